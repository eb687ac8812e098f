// A text that logs, JSON and string templates cannot show. Only `reveal` gives it out, so that
// every place that handles it in the clear can be found by that word.

const HIDDEN = '[secret]';

export class Secret {
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }
  reveal(): string {
    return this.#text;
  }
  toString(): string {
    return HIDDEN;
  }
  toJSON(): string {
    return HIDDEN;
  }
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return HIDDEN;
  }
}
