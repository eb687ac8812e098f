// The objects of a PDF file, as its readers may see them.

import { isWholeNumber } from '../base/checked-number.ts';
import { type DocumentWork, UnreadableDocument } from './document-work.ts';
import { decodeStream, filtersOf } from './pdf-filters.ts';
import {
  addObject,
  type PdfDictionary,
  type PdfObject,
  PdfReader,
  PdfReference,
  type PdfValue,
  scanObjects,
} from './pdf-objects.ts';

const REFERENCES_MAX = 16; // from one object to the next, before it is a circle
const OBJECTS_IN_STREAM_MAX = 100_000;

export type Resources = readonly PdfDictionary[];

/** Throws UnreadableDocument. */
export async function openPdf(file: Buffer, work: DocumentWork): Promise<PdfFile> {
  const pdf = new PdfFile(await scanObjects(file, work), work);
  pdf.refuseEncrypted(file);
  await pdf.openObjectStreams();
  return pdf;
}

export class PdfFile {
  readonly #objects: Map<number, PdfObject[]>;
  readonly #work: DocumentWork;
  readonly #resources = new Map<PdfDictionary, Resources>();

  constructor(objects: Map<number, PdfObject[]>, work: DocumentWork) {
    this.#objects = objects;
    this.#work = work;
  }

  /** Encrypted data would be measured instead of the text. */
  refuseEncrypted(file: Buffer): void {
    const isEncrypted = (value: PdfValue) => value instanceof Map && value.has('Encrypt');
    for (const { value } of this.#all()) if (isEncrypted(value)) throw new UnreadableDocument('it is encrypted');
    for (let at = file.indexOf('trailer'); at >= 0; at = file.indexOf('trailer', at + 7)) {
      if (isEncrypted(new PdfReader(file, at + 7, this.#work).readValue()))
        throw new UnreadableDocument('it is encrypted');
    }
  }

  async openObjectStreams(): Promise<void> {
    for (const object of [...this.#all()]) {
      const { value, data } = object;
      if (!(value instanceof Map) || data === null) continue;
      const [count, first] = [this.one(value.get('N')), this.one(value.get('First'))];
      if (isWholeNumber(count) && isWholeNumber(first)) await this.#openObjectStream(object, count, first);
    }
  }

  async #openObjectStream(object: PdfObject, count: number, first: number): Promise<void> {
    if (count > OBJECTS_IN_STREAM_MAX) throw new UnreadableDocument('an object stream is too large');
    const stream = await this.decode(object);
    const head = new PdfReader(stream, 0, this.#work);
    for (let index = 0; index < count; index++) {
      const [number, offset] = [head.readValue(), head.readValue()];
      if (!isWholeNumber(number) || !isWholeNumber(offset)) break;
      await this.#work.pause();
      const value = new PdfReader(stream, first + offset, this.#work).readValue();
      addObject(this.#objects, number, { value, data: null });
    }
  }

  dictionaries(): PdfDictionary[] {
    return [...this.#all()].flatMap(({ value }) => (value instanceof Map ? [value] : []));
  }

  /** The nodes above all pages. Throws UnreadableDocument. */
  roots(dictionaries: readonly PdfDictionary[]): PdfDictionary[] {
    const roots = dictionaries
      .filter((one) => one.has('Pages'))
      .flatMap((one) => this.dictionariesOf(one.get('Pages')));
    if (roots.length === 0) throw new UnreadableDocument('it has no pages');
    return roots;
  }

  /** Resources of pages that have none of their own. */
  inheritedResources(dictionaries: readonly PdfDictionary[]): Resources {
    return dictionaries.filter((one) => one.has('Kids')).flatMap((one) => this.dictionariesOf(one.get('Resources')));
  }

  async decode({ value, data }: PdfObject): Promise<Buffer> {
    if (!(value instanceof Map) || data === null) return Buffer.alloc(0);
    const length = this.one(value.get('Length'));
    const filters = filtersOf(value, (given) => this.one(given));
    return decodeStream(data, isWholeNumber(length) ? length : 0, filters, this.#work);
  }

  resourcesOf(holder: PdfDictionary): Resources {
    const known = this.#resources.get(holder) ?? this.dictionariesOf(holder.get('Resources'));
    this.#resources.set(holder, known);
    return known;
  }

  dictionariesOf(value: PdfValue | undefined): PdfDictionary[] {
    return this.valuesOf(value).flatMap((one) => (one instanceof Map ? [one] : []));
  }

  valuesOf(value: PdfValue | undefined): PdfValue[] {
    return this.definitionsOf(value).map((object) => object.value);
  }

  /** All definitions that a value may stand for. */
  definitionsOf(value: PdfValue | undefined, depth = 0): PdfObject[] {
    if (value === undefined || value === null) return [];
    if (!(value instanceof PdfReference)) return [{ value, data: null }];
    if (depth > REFERENCES_MAX) throw new UnreadableDocument('references form a circle');
    this.#work.addStep();
    const definitions = this.#objects.get(value.number) ?? [];
    return definitions.flatMap((object) =>
      object.value instanceof PdfReference ? this.definitionsOf(object.value, depth + 1) : [object],
    );
  }

  /** The value where there must be no doubt about it; the largest of several numbers. Throws UnreadableDocument. */
  one(value: PdfValue | undefined): PdfValue {
    const [first = null, ...others] = this.valuesOf(value);
    if (others.length === 0) return first;
    const numbers = [first, ...others].filter((one) => isWholeNumber(one));
    if (numbers.length === others.length + 1) return Math.max(...numbers);
    throw new UnreadableDocument('an object is defined twice');
  }
  *#all(): Generator<PdfObject> {
    for (const definitions of this.#objects.values()) yield* definitions;
  }
}
