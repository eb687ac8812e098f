// One hole that attackers could once use: where it was closed, and what stood there before.

/** The episodes that find a hole. */
const economies = ['messages', 'company'] as const;
export type Economy = (typeof economies)[number];

export function isEconomy(text: string): text is Economy {
  return economies.some((name) => name === text);
}

export interface Hole {
  name: string;
  /** The guard that is removed, in words. */
  removes: string;
  /** From the project's root. */
  file: string;
  /** Occurs exactly once in the file. */
  find: string;
  put: string;
  economy: Economy;
}

type Place = [name: string, removes: string, find: string, put: string];

/** The holes of one file. */
export function holesIn(file: string, places: readonly Place[], economy: Economy = 'messages'): Hole[] {
  return places.map(([name, removes, find, put]) => ({ name, removes, file, find, put, economy }));
}

/** The file's text with the hole in it. Throws where what it looks for is not there, or more than once. */
export function putBack(text: string, { name, file, find, put }: Hole): string {
  const parts = text.split(find);
  if (parts.length !== 2)
    throw new Error(
      `${name}: ${file} has what it looks for ${parts.length - 1} times, not once: bring the list up to date`,
    );
  return parts.join(put);
}
