// Paths as text, and what stands behind them. Which route is meant the path says alone; the slips of base URLs (doubled slashes, a slash at the
// end, /v1 twice or not at all) are forgiven.

/** What everything for clients of OpenAI begins with that no other client asks for. */
const CHAT_PATH = '/v1/chat/';
/** What one model's path begins with. */
export const MODELS_PATH = '/v1/models/';
/** What the path of one message's usage begins with. */
export const USAGE_PATH = '/v1/usage/';

const WITHOUT_VERSION = /^\/(?:messages|chat|models)(?:\/|$)/;

/** The path as the table has it: "//v1/v1/messages/" and "/messages" are "/v1/messages". */
export function normalPath(path: string): string {
  const single = path.replace(/\/{2,}/g, '/').replace(/^(?:\/v1)+(?=\/|$)/, '/v1');
  const trimmed = single.length > 1 && single.endsWith('/') ? single.slice(0, -1) : single;
  return WITHOUT_VERSION.test(trimmed) ? `/v1${trimmed}` : trimmed;
}

/** Whether clients of OpenAI ask for it. */
export function isForOpenAi(path: string): boolean {
  const normal = normalPath(path);
  return normal.startsWith(CHAT_PATH) || `${normal}/`.startsWith(MODELS_PATH);
}

/** Whether its answers, errors too, are in the form of Chat Completions. */
export function isChatPath(path: string): boolean {
  return normalPath(path).startsWith(CHAT_PATH);
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
