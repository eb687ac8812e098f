// Shared by both protocols of OpenAI: the format of an error, and files as data addresses. It has no tests of its
// own.

/** The body of an error. */
export function openaiError(message: string, type: string, code: string | null = null): string {
  return JSON.stringify({ error: { message, type, param: null, code } });
}

/** The content of a data address, or the address itself. */
export function readUrl(url: string, kind: 'image' | 'pdf'): string {
  const [, type, bytes] = /^data:([^;]*);base64,(.*)$/s.exec(url) ?? [];
  return type === undefined ? `${kind} at ${url}` : `${type} ${bytes ?? ''}`;
}
