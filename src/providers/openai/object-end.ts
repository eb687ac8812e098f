// Where the one object of a JSON text ends that comes in pieces: each piece is looked at once, however many there
// are. Whether it is JSON between its braces is not asked here.

export class ObjectEnd {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #isReached = false;

  /** The brace that ends the object was read. */
  get isReached(): boolean {
    return this.#isReached;
  }

  read(piece: string): void {
    for (let at = 0; at < piece.length && !this.#isReached; at++) this.#step(piece[at] as string);
  }

  #step(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (this.#isInString) {
      this.#isEscaped = character === '\\';
      this.#isInString = character !== '"';
    } else if (character === '"') this.#isInString = true;
    else if (character === '{' || character === '[') this.#depth++;
    else if (character === '}' || character === ']') {
      this.#depth--;
      this.#isReached = this.#depth === 0;
    }
  }
}
