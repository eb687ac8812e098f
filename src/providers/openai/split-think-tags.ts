// Splits thinking at the start of a text, between <think> and </think>, from the rest. Later tags are ordinary text.

const OPENING = '<think>';
const CLOSING = '</think>';
const BEGINNING_CHARACTERS_MAX = 64; // of white space and a partial tag

interface SplitText {
  thinking: string;
  text: string;
}

/** Reads the pieces of one text in order. Holds back a possible tag, at most its length. */
export class ThinkTagReader {
  #place: 'beginning' | 'opened' | 'thinking' | 'after' | 'text' = 'beginning';
  #held = '';

  take(piece: string): SplitText {
    if (this.#place === 'text') return { thinking: '', text: piece };
    let text = this.#held + piece;
    let thinking = '';
    this.#held = '';
    if (this.#place === 'beginning') {
      const begun = text.trimStart();
      if (begun.startsWith(OPENING)) {
        this.#place = 'opened';
        text = begun.slice(OPENING.length);
      } else if (OPENING.startsWith(begun) && text.length <= BEGINNING_CHARACTERS_MAX) {
        this.#held = text;
        return { thinking, text: '' };
      } else this.#place = 'text';
    }
    if (this.#place === 'opened' && text !== '') {
      this.#place = 'thinking';
      text = text.replace(/^\n/, ''); // the line end after the tag is not part of the thinking
    }
    if (this.#place === 'thinking') {
      const end = text.indexOf(CLOSING);
      const given = end < 0 ? text.length - suffixOfClosing(text) : end;
      thinking = text.slice(0, given);
      if (end < 0) this.#held = text.slice(given);
      else this.#place = 'after';
      text = end < 0 ? '' : text.slice(end + CLOSING.length);
    }
    if (this.#place === 'after') {
      text = text.trimStart(); // white space between thinking and text belongs to neither
      if (text !== '') this.#place = 'text';
    }
    return { thinking, text };
  }

  /** The end of the text: the held back part was not a tag. */
  end(): SplitText {
    const held = this.#held;
    this.#held = '';
    return this.#place === 'thinking' ? { thinking: held, text: '' } : { thinking: '', text: held };
  }
}

function suffixOfClosing(text: string): number {
  for (let characters = Math.min(CLOSING.length - 1, text.length); characters > 0; characters--)
    if (CLOSING.startsWith(text.slice(text.length - characters))) return characters;
  return 0;
}
