// Formats of sound: OpenAI has names for them, Messages and Gemini media types.

const FORMATS: readonly [format: string, ...mediaTypes: string[]][] = [
  ['wav', 'audio/wav', 'audio/x-wav', 'audio/wave', 'audio/vnd.wave'],
  ['mp3', 'audio/mp3', 'audio/mpeg', 'audio/mpga'],
];

/** OpenAI's formats of sound in a message. */
export const SOUND_FORMATS = FORMATS.map(([format]) => format);

/** The media type of a format, as Gemini names it; null for another format. */
export function soundTypeOf(format: string): string | null {
  return FORMATS.find(([name]) => name === format)?.[1] ?? null;
}

/** The format of a media type; null for one that OpenAI does not have. */
export function soundFormatOf(mediaType: string): string | null {
  return FORMATS.find(([, ...types]) => types.includes(mediaType))?.[0] ?? null;
}

/** The block of sound in base64. */
export function soundBlock(media_type: string, data: string) {
  return { type: 'audio', source: { type: 'base64', media_type, data } };
}
