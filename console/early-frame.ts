// Whether early.ts draws the frame of the pages before they load: where someone was signed in the last time.

const STORED = 'turnpike-frame';

export function rememberFrame(isSignedIn: boolean): void {
  try {
    if (isSignedIn) window.localStorage.setItem(STORED, '1');
    else window.localStorage.removeItem(STORED);
  } catch {} // a browser that stores nothing
}
