// Segments of paths and values of queries in URLs.

/** All but the unreserved characters of RFC 3986 encoded, as signatures of AWS have them. */
export function encodeSegment(text: string): string {
  const hex = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text.toWellFormed()).replaceAll(/[!'()*]/g, hex);
}
