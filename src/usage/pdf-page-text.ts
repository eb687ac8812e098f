// The text that a page of a PDF file draws, in the order in which it is drawn. Where the next text is beside the last one, as in
// a word of several strings, they are one; elsewhere they are apart.

import type { DocumentWork } from './document-work.ts';
import type { PdfOperation } from './pdf-content.ts';
import { type PdfFont, unknownFont } from './pdf-font.ts';

export interface DrawnText {
  text: string;
  /** Codes that stand for text which the file does not tell. */
  untold: number;
}

export const NO_TEXT: DrawnText = { text: '', untold: 0 };

/** The content that names on a page refer to. */
export interface NamedContent {
  font(name: string): PdfFont | null | Promise<PdfFont | null>;
  form(name: string): Promise<DrawnText>;
  /** Bytes of text that readers take instead of what is marked with the name. */
  markedBytes(name: string): number;
}

type Matrix = readonly [number, number, number, number, number, number];
const UNIT: Matrix = [1, 0, 0, 1, 0, 0];
const STATES_MAX = 256; // saved in each other; the format allows 28
// In ems. A space is a quarter of an em wide, and kerning moves by less than a tenth.
const GAP_LEAST = 0.15;
const LINE_LEAST = 0.5;
const STEP_BACK_LEAST = 1;

interface State {
  matrix: Matrix;
  font: PdfFont;
  size: number;
  leading: number;
  codeSpace: number;
  wordSpace: number;
  scale: number;
}

interface Mark {
  pieces: number;
  characters: number;
  actualText: string | null;
}

export class PageText {
  readonly #named: NamedContent;
  readonly #work: DocumentWork;
  readonly #saved: State[] = [];
  readonly #marks: Mark[] = [];
  #state: State;
  #line = UNIT;
  #at = UNIT;
  /** Text that is joined already, and pieces that a mark may still replace. */
  readonly #joined: string[] = [];
  #pieces: string[] = [];
  #endsApart = true;
  #characters = 0;
  #untold = 0;
  /** Where the last text ends; null: what follows is apart from it. */
  #end: readonly [number, number] | null = null;

  constructor(named: NamedContent, work: DocumentWork) {
    this.#named = named;
    this.#work = work;
    this.#state = {
      matrix: UNIT,
      font: unknownFont(work),
      size: 1,
      leading: 0,
      codeSpace: 0,
      wordSpace: 0,
      scale: 1,
    };
  }

  drawn(): DrawnText {
    return { text: this.#joined.join('') + this.#pieces.join(''), untold: this.#untold };
  }

  /** Adds what is drawn elsewhere, apart from all other text. Throws UnreadableDocument. */
  addApart({ text, untold }: DrawnText): void {
    this.#work.addText(text.length + untold);
    this.#untold += untold;
    if (text === '') return;
    this.#end = null;
    this.#addText(text);
    this.#end = null;
  }

  /** Throws UnreadableDocument. */
  async take(operations: readonly PdfOperation[]): Promise<void> {
    for (const operation of operations) {
      this.#work.addStep();
      const { operator, name, operands } = operation;
      if (operator === 'Do') this.addApart(await this.#named.form(name));
      else if (operator === 'Tf') {
        const found = this.#named.font(name);
        this.#state.font = (found instanceof Promise ? await found : found) ?? unknownFont(this.#work);
        this.#state.size = numberAt(operands, 0);
      } else if (operator.endsWith('MC') || operator === 'BDC') this.#mark(operation);
      else this.#apply(operation);
    }
    if (this.#marks.length > 0) return;
    this.#joined.push(this.#pieces.join(''));
    this.#pieces = [];
  }

  #apply({ operator, operands }: PdfOperation): void {
    const state = this.#state;
    const [x, y] = [numberAt(operands, 0), numberAt(operands, 1)];
    switch (operator) {
      case 'q':
        if (this.#saved.length < STATES_MAX) this.#saved.push({ ...state });
        break;
      case 'Q':
        this.#state = this.#saved.pop() ?? state;
        break;
      case 'cm':
        state.matrix = multiply(matrixOf(operands), state.matrix);
        break;
      case 'BT':
        this.#moveTo(UNIT);
        break;
      case 'Tm':
        this.#moveTo(matrixOf(operands));
        break;
      case 'TD':
        state.leading = -y;
        this.#moveLine(x, y);
        break;
      case 'Td':
        this.#moveLine(x, y);
        break;
      case 'T*':
        this.#moveLine(0, -state.leading);
        break;
      case 'TL':
        state.leading = x;
        break;
      case 'Tc':
        state.codeSpace = x;
        break;
      case 'Tw':
        state.wordSpace = x;
        break;
      case 'Tz':
        state.scale = x / 100;
        break;
      default:
        this.#showAll(operator, operands);
    }
  }

  #showAll(operator: string, operands: readonly (number | string)[]): void {
    const state = this.#state;
    if (operator === '"') [state.wordSpace, state.codeSpace] = [numberAt(operands, 0), numberAt(operands, 1)];
    if (operator === "'" || operator === '"') this.#moveLine(0, -state.leading);
    for (const operand of operands) {
      if (typeof operand === 'string') this.#show(operand);
      else if (operator === 'TJ') this.#advance((-operand / 1000) * state.size * state.scale);
    }
  }

  #show(string: string): void {
    const { font, size, scale, codeSpace, wordSpace } = this.#state;
    const { text, ems, codes, spaces, untold } = font.read(string);
    this.#untold += untold;
    if (text !== '') this.#addText(text);
    this.#advance((ems * size + codes * codeSpace + spaces * wordSpace) * scale);
    const [, , , , right, up] = multiply(this.#at, this.#state.matrix);
    this.#end = [right, up];
  }

  #addText(text: string): void {
    if (!this.#endsApart && !/^\s/.test(text) && this.#isApart()) this.#push(' ');
    this.#push(text);
  }

  #push(piece: string): void {
    this.#work.addStep();
    this.#pieces.push(piece);
    this.#endsApart = /\s$/.test(piece);
    this.#characters += piece.length;
  }

  /** On another line than the end of the last text, or a gap away. */
  #isApart(): boolean {
    if (this.#end === null) return true;
    const [across, down, , , right, up] = multiply(this.#at, this.#state.matrix);
    const length = Math.hypot(across, down);
    const em = Math.abs(this.#state.size) * length;
    if (!(em > 0)) return true;
    const [movedRight, movedUp] = [right - this.#end[0], up - this.#end[1]];
    const gap = (movedRight * across + movedUp * down) / length;
    const line = Math.abs(movedUp * across - movedRight * down) / length;
    return line > LINE_LEAST * em || gap > GAP_LEAST * em || gap < -STEP_BACK_LEAST * em;
  }

  /** Readers take the text that a mark gives, or the text that is drawn: here the longer one. */
  #mark({ operator, name, actualText }: PdfOperation): void {
    if (operator !== 'EMC') {
      if (operator === 'BDC' && actualText === null) this.#untold += Math.ceil(this.#named.markedBytes(name) / 3);
      this.#marks.push({ pieces: this.#pieces.length, characters: this.#characters, actualText });
      return;
    }
    const {
      pieces,
      characters,
      actualText: actual,
    } = this.#marks.pop() ?? { pieces: 0, characters: 0, actualText: null };
    if (actual === null || actual.length <= this.#characters - characters) return;
    this.#work.addText(actual.length);
    this.#pieces.length = pieces;
    this.#characters = characters;
    this.#push(actual);
  }

  #moveTo(matrix: Matrix): void {
    this.#line = matrix;
    this.#at = matrix;
  }

  #moveLine(x: number, y: number): void {
    this.#moveTo(multiply([1, 0, 0, 1, x, y], this.#line));
  }

  #advance(x: number): void {
    this.#at = multiply([1, 0, 0, 1, x, 0], this.#at);
  }
}

function numberAt(operands: readonly (number | string)[], index: number): number {
  const operand = operands[index];
  return operand === undefined || typeof operand === 'string' ? 0 : operand;
}

function matrixOf(operands: readonly (number | string)[]): Matrix {
  const [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map((index) => numberAt(operands, index)) as unknown as Matrix;
  return [a, b, c, d, e, f];
}

function multiply([a, b, c, d, e, f]: Matrix, [g, h, i, j, k, l]: Matrix): Matrix {
  return [a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + l];
}
