// Thinking that a model writes into its text: what stands at the beginning between <think> and </think>. A tag may
// be cut anywhere between two pieces. Only the beginning is looked at: later the tag is the author's own word.

const OPENING = '<think>';
const CLOSING = '</think>';
const BEGINNING_CHARACTERS_MAX = 64; // of white space and a part of the tag

export interface SplitText {
  thinking: string;
  text: string;
}

/** Reads the pieces of one text, in order. What may be the beginning of a tag is held back, at most its length. */
export class ThinkTagReader {
  #place: 'beginning' | 'opened' | 'thinking' | 'after' | 'text' = 'beginning';
  #held = '';

  take(piece: string): SplitText {
    const text = this.#held + piece;
    this.#held = '';
    switch (this.#place) {
      case 'beginning':
        return this.#begin(text);
      case 'opened':
        return this.#open(text);
      case 'thinking':
        return this.#think(text);
      case 'after':
        return this.#resume(text);
      case 'text':
        return { thinking: '', text };
    }
  }

  /** The text is at its end: what was held back was no tag. */
  end(): SplitText {
    const held = this.#held;
    this.#held = '';
    return this.#place === 'thinking' ? { thinking: held, text: '' } : { thinking: '', text: held };
  }

  #begin(text: string): SplitText {
    const begun = text.trimStart();
    if (begun.startsWith(OPENING)) {
      this.#place = 'opened';
      return this.#open(begun.slice(OPENING.length));
    }
    if (OPENING.startsWith(begun) && text.length <= BEGINNING_CHARACTERS_MAX) return this.#hold(text, text.length);
    this.#place = 'text';
    return { thinking: '', text };
  }

  /** The line end behind the tag is no part of the thinking. */
  #open(text: string): SplitText {
    if (text === '') return { thinking: '', text: '' };
    this.#place = 'thinking';
    return this.#think(text.replace(/^\n/, ''));
  }

  #think(text: string): SplitText {
    const end = text.indexOf(CLOSING);
    if (end < 0) return this.#hold(text, suffixOfClosing(text));
    this.#place = 'after';
    const { text: rest } = this.#resume(text.slice(end + CLOSING.length));
    return { thinking: text.slice(0, end), text: rest };
  }

  /** White space between the thinking and the text belongs to neither. */
  #resume(text: string): SplitText {
    const begun = text.trimStart();
    if (begun !== '') this.#place = 'text';
    return { thinking: '', text: begun };
  }

  #hold(text: string, characters: number): SplitText {
    this.#held = text.slice(text.length - characters);
    const given = text.slice(0, text.length - characters);
    return this.#place === 'thinking' ? { thinking: given, text: '' } : { thinking: '', text: given };
  }
}

/** How many characters at the end may be the beginning of the closing tag. */
function suffixOfClosing(text: string): number {
  for (let characters = Math.min(CLOSING.length - 1, text.length); characters > 0; characters--)
    if (CLOSING.startsWith(text.slice(text.length - characters))) return characters;
  return 0;
}
