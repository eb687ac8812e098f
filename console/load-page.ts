// Fetches the script of a page. Where that fails and the service does not answer either, the failure is the same as that of a
// request, to be tried again in the page; where the service answers, its scripts are others now, which the router sees by itself:
// it loads the console anew, once.

import { ApiFailure, isServiceThere } from './api.ts';

/** Rejects with an ApiFailure, "unreachable", or with the browser's own error. */
export async function loadPage<Page>(load: () => Promise<Page>): Promise<Page> {
  try {
    return await load();
  } catch (failure) {
    if (await isServiceThere()) throw failure;
    throw new ApiFailure(0, 'unreachable', String(failure), [], null);
  }
}

/** Begins the page anew if the service answers: a script that could not be had is not asked for again by every browser. */
export async function reloadPage(): Promise<void> {
  if (await isServiceThere()) window.location.reload();
}
