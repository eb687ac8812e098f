// Remembers in the browser whether someone was signed in: then early.ts draws the frame of the pages before they load.

const STORED = 'turnpike-frame';

export function rememberFrame(isSignedIn: boolean): void {
  try {
    if (isSignedIn) window.localStorage.setItem(STORED, '1');
    else window.localStorage.removeItem(STORED);
  } catch {} // a browser that stores nothing
}
