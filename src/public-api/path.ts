// Paths as text, and what stands behind them. Which route is meant the path says alone; the slips of base URLs (doubled slashes, a slash at the
// end, /v1 twice or not at all) are forgiven.

/** What one model's path begins with. */
export const MODELS_PATH = '/v1/models/';
/** What the path of one message's usage begins with. */
export const USAGE_PATH = '/v1/usage/';

/** The path as the table has it: "//v1/v1/messages/" and "/messages" are "/v1/messages". */
export function normalPath(path: string): string {
  const single = path.replace(/\/{2,}/g, '/').replace(/^(?:\/v1)+(?=\/|$)/, '/v1');
  const trimmed = single.length > 1 && single.endsWith('/') ? single.slice(0, -1) : single;
  return trimmed === '/messages' || trimmed.startsWith('/messages/') ? `/v1${trimmed}` : trimmed;
}

/** What stands behind the beginning of a path. Text that is no percent-encoding is taken as it stands: nothing bears such a name. */
export function restOf(path: string, beginning: string): string {
  const rest = normalPath(path).slice(beginning.length);
  try {
    return decodeURIComponent(rest);
  } catch {
    return rest;
  }
}
