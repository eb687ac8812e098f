// What both protocols of OpenAI have in common: the form of an error, and files as addresses that hold them. Not a test.

/** The body of an error. */
export function openaiError(message: string, type: string, code: string | null = null): string {
  return JSON.stringify({ error: { message, type, param: null, code } });
}

/** What an address stands for: the content inside of it, or itself. */
export function readUrl(url: string, kind: 'image' | 'pdf'): string {
  const [, type, bytes] = /^data:([^;]*);base64,(.*)$/s.exec(url) ?? [];
  return type === undefined ? `${kind} at ${url}` : `${type} ${bytes ?? ''}`;
}
