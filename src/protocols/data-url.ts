// Data URLs: as clients write them, and as providers get them.

const HEAD_CHARACTERS_MAX = 200; // the part before the data

export interface InlineFile {
  /** In lower case. */
  mediaType: string;
  base64: string;
}

export function dataUrl(mediaType: string, base64: string): string {
  return `data:${mediaType};base64,${base64}`;
}

/** The file of a data URL with base64, which may have further parameters; null for anything else. */
export function readDataUrl(url: string): InlineFile | null {
  const comma = url.slice(0, HEAD_CHARACTERS_MAX).indexOf(',');
  if (comma < 0 || url.slice(0, 5).toLowerCase() !== 'data:') return null;
  const [mediaType = '', ...parameters] = url
    .slice(5, comma)
    .split(';')
    .map((part) => part.trim().toLowerCase());
  return parameters.at(-1) === 'base64' ? { mediaType, base64: url.slice(comma + 1) } : null;
}

/** The file of a data URL as `dataUrl` writes it, with the media type as it was written; null for anything else. */
export function readPlainDataUrl(url: unknown): InlineFile | null {
  const [, mediaType, base64] = (typeof url === 'string' ? /^data:([^;,]+);base64,(.*)$/s.exec(url) : null) ?? [];
  return mediaType === undefined || base64 === undefined ? null : { mediaType, base64 };
}
