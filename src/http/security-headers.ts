// What browsers are told so that an answer is never taken for more than it is. Answers of the API bear what
// concerns them; all others also say that they are no page, to be shown in no frame.

const YEAR_SECONDS = 365 * 24 * 60 * 60;

type Headers = Readonly<Record<string, string>>;

const api: Headers = Object.freeze({ 'x-content-type-options': 'nosniff' });
const other: Headers = Object.freeze({
  ...api,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
});
// Subdomains are not ours to speak for.
const transport: Headers = Object.freeze({ 'strict-transport-security': `max-age=${YEAR_SECONDS}` });
const overTls = Object.freeze({
  api: Object.freeze({ ...api, ...transport }),
  other: Object.freeze({ ...other, ...transport }),
});

/** The same objects each time: not to be changed. `api` is what clients of models ask for. */
export function securityHeaders(kind: 'api' | 'other', isOverTls: boolean): Headers {
  if (isOverTls) return overTls[kind];
  return kind === 'api' ? api : other;
}

/** An answer that was made elsewhere, with these headers as well. */
export function withSecurityHeaders(response: Response, isOverTls: boolean): Response {
  for (const [name, value] of Object.entries(securityHeaders('other', isOverTls))) response.headers.set(name, value);
  return response;
}
