// The media types of files, by their beginnings.

export const PDF = 'application/pdf';

const BEGINNINGS: readonly [beginning: RegExp, mediaType: string][] = [
  [/^JVBERi/, PDF],
  [/^iVBORw0KGgo/, 'image/png'],
  [/^\/9j\//, 'image/jpeg'],
  [/^R0lGOD/, 'image/gif'],
  [/^UklGR.{7}RUJQ/, 'image/webp'],
];

/** The media type of a PDF, PNG, JPEG, GIF or WebP file in base64; null for any other. */
export function mediaTypeOf(base64: string): string | null {
  return BEGINNINGS.find(([beginning]) => beginning.test(base64))?.[1] ?? null;
}
