// Runs before the console's other scripts and before the first paint: the theme that the user chose, the frame of those
// who were signed in, and a buffer of what is typed after the shortcut of the search, until its field has the focus.

import { startEarly } from './early-load.ts';

const STORED_SCHEME = 'mantine-color-scheme-value';
const STORED_FRAME = 'turnpike-frame';
const CHARACTERS_MAX = 200;

export interface EarlySearch {
  /** Whether the page has the search: its shortcut does nothing otherwise. Until the page is drawn, it may have. */
  isOffered: boolean;
  /** Whether the field of the search has had the focus since it opened. */
  isOpen: boolean;
  /** What was typed since the shortcut; null: the keys go where they belong. */
  text: string | null;
  /** Whether Enter was the last key, which ends the text. */
  isEntered: boolean;
  /** Opens or closes the search; null until the page is drawn. */
  show: ((isShown: boolean) => void) | null;
}

declare global {
  var turnpikeSearch: EarlySearch;
}

const search: EarlySearch = { isOffered: true, isOpen: false, text: null, isEntered: false, show: null };
globalThis.turnpikeSearch = search;

/** A browser that stores nothing follows the system. */
function stored(name: string): string | null {
  try {
    return window.localStorage.getItem(name);
  } catch {
    return null;
  }
}

const root = document.documentElement;
const scheme = stored(STORED_SCHEME);
const isDark = scheme === 'dark' || (scheme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
root.dataset['mantineColorScheme'] = isDark ? 'dark' : 'light';
const isKnown = stored(STORED_FRAME) !== null;
if (isKnown) root.classList.add('early-frame');

window.addEventListener('keydown', onKeyDown, { capture: true });
startEarly(isKnown);

function onKeyDown(event: KeyboardEvent): void {
  const { key, ctrlKey, metaKey, altKey, shiftKey, isComposing } = event;
  const isCommand = ctrlKey || metaKey;
  const isShortcut = isCommand && !altKey && !shiftKey && key.toLowerCase() === 'k';
  if (isShortcut && search.isOffered) {
    if (!search.isOpen) Object.assign(search, { text: search.text ?? '', isEntered: false });
    search.show?.(true);
  } else if (search.text === null || isCommand || isComposing || !keep(search.text, key)) return;
  event.preventDefault();
  event.stopPropagation();
}

/** Whether the key belongs to the search. */
function keep(text: string, key: string): boolean {
  if (key === 'Escape') {
    search.text = null;
    search.show?.(false);
  } else if (key === 'Enter') search.isEntered = true;
  else if (key === 'Backspace') search.text = text.slice(0, -1);
  else if ([...key].length === 1) search.text = (text + key).slice(0, CHARACTERS_MAX);
  else return false;
  return true;
}
