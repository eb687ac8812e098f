// How many tokens a PDF file may have: its pages as images, and all text that they draw. Pages are those of the real page
// tree, where one page may occur many times, and so may a form on a page.

import { isWholeNumber } from '../base/checked-number.ts';
import { bounds } from '../config/config.ts';
import { type DocumentWork, UnreadableDocument } from './document-work.ts';
import { readCodes } from './pdf-codes.ts';
import { type PdfContent, readContent } from './pdf-content.ts';
import { openPdf, type PdfFile, type Resources } from './pdf-file.ts';
import { type PdfDictionary, PdfName, type PdfObject, PdfText, type PdfValue } from './pdf-objects.ts';

export interface PdfMeasure {
  pages: number;
  /** The most tokens of its text. */
  textTokensMax: number;
}

const REFERENCES_MAX = 16; // from one object to the next, before it is a circle
const TOKENS_PER_STRING = 2; // spaces and line ends that readers add between strings

/** Throws UnreadableDocument. */
export async function measurePdf(file: Buffer, work: DocumentWork): Promise<PdfMeasure> {
  return new PdfMeasurer(await openPdf(file, work), work).measure();
}

class PdfMeasurer {
  readonly #pdf: PdfFile;
  readonly #work: DocumentWork;
  readonly #pages = new Map<PdfDictionary, PdfMeasure | null>();
  readonly #contents = new Map<PdfObject, Promise<PdfContent>>();
  /** Tokens of a form by the resources that it is drawn with; null while they are added up. */
  readonly #forms = new Map<PdfObject, Map<Resources, number | null>>();
  #inherited: Resources = [];
  /** The most tokens of a byte of text in a font that says what its codes mean. */
  #tokensPerByte = 0;

  constructor(pdf: PdfFile, work: DocumentWork) {
    this.#pdf = pdf;
    this.#work = work;
  }

  async measure(): Promise<PdfMeasure> {
    const dictionaries = this.#pdf.dictionaries();
    this.#inherited = this.#pdf.inheritedResources(dictionaries);
    for (const dictionary of dictionaries) await this.#noteCodes(dictionary);
    const total: PdfMeasure = { pages: 0, textTokensMax: 0 };
    for (const root of this.#pdf.roots(dictionaries)) raise(total, await this.#measureNode(root, 0));
    // Titles, outlines and values of forms, which readers may add.
    for (const dictionary of dictionaries) total.textTokensMax += textTokens(dictionary);
    return total;
  }

  /** A page, or a node of the page tree. */
  async #measureNode(node: PdfDictionary, depth: number): Promise<PdfMeasure> {
    const known = this.#pages.get(node);
    if (known === null || depth > bounds.documentDepthMax) throw new UnreadableDocument('its pages form a circle');
    if (known !== undefined) return known;
    this.#pages.set(node, null);
    this.#work.addStep();
    const measured = node.has('Kids') ? await this.#measureKids(node, depth) : await this.#measurePage(node);
    this.#pages.set(node, measured);
    return measured;
  }

  async #measureKids(node: PdfDictionary, depth: number): Promise<PdfMeasure> {
    const total: PdfMeasure = { pages: 0, textTokensMax: 0 };
    for (const kids of this.#pdf.valuesOf(node.get('Kids'))) {
      const sum: PdfMeasure = { pages: 0, textTokensMax: 0 };
      for (const kid of Array.isArray(kids) ? kids : []) {
        const most: PdfMeasure = { pages: 0, textTokensMax: 0 };
        for (const one of this.#pdf.dictionariesOf(kid)) raise(most, await this.#measureNode(one, depth + 1));
        sum.pages += most.pages;
        sum.textTokensMax += most.textTokensMax;
        this.#work.addStep();
      }
      raise(total, sum);
    }
    const count = this.#pdf.one(node.get('Count'));
    return { ...total, pages: Math.max(total.pages, isWholeNumber(count) ? count : 0) };
  }

  async #measurePage(page: PdfDictionary): Promise<PdfMeasure> {
    await this.#work.pause();
    const resources = page.has('Resources') ? this.#pdf.resourcesOf(page) : this.#inherited;
    let textTokensMax = await this.#contentsTokens(page.get('Contents'), resources, 0);
    for (const annotations of this.#pdf.valuesOf(page.get('Annots')))
      for (const one of Array.isArray(annotations) ? annotations : [])
        for (const annotation of this.#pdf.dictionariesOf(one))
          textTokensMax += textTokens(annotation) + (await this.#appearanceTokens(annotation));
    return { pages: 1, textTokensMax };
  }

  /** A stream, or several that readers join. */
  async #contentsTokens(contents: PdfValue | undefined, resources: Resources, depth: number): Promise<number> {
    if (depth > REFERENCES_MAX) throw new UnreadableDocument('contents form a circle');
    let most = 0;
    for (const object of this.#pdf.definitionsOf(contents)) {
      let sum = 0;
      if (Array.isArray(object.value))
        for (const one of object.value) sum += await this.#contentsTokens(one, resources, depth + 1);
      else if (object.data !== null) sum = await this.#streamTokens(object, resources, 0);
      most = Math.max(most, sum);
    }
    return most;
  }

  /** The normal appearance of an annotation: a form, or one for each state. */
  async #appearanceTokens(annotation: PdfDictionary): Promise<number> {
    let sum = 0;
    for (const appearances of this.#pdf.dictionariesOf(annotation.get('AP')))
      for (const object of this.#pdf.definitionsOf(appearances.get('N'))) {
        const forms = object.data === null && object.value instanceof Map ? [...object.value.values()] : [];
        if (object.data !== null) sum += await this.#streamTokens(object, this.#inherited, 0);
        for (const form of forms) sum += await this.#formTokens(form, this.#inherited, 0);
      }
    return sum;
  }

  /** The form that a name stands for; pictures have no text. */
  async #formTokens(form: PdfValue | undefined, resources: Resources, depth: number): Promise<number> {
    let most = 0;
    for (const object of this.#pdf.definitionsOf(form)) {
      if (!(object.value instanceof Map) || object.data === null) continue;
      const kind = this.#pdf.one(object.value.get('Subtype'));
      if (kind instanceof PdfName && kind.name === 'Image') continue;
      const own = object.value.has('Resources') ? this.#pdf.resourcesOf(object.value) : resources;
      most = Math.max(most, await this.#streamTokens(object, own, depth + 1));
    }
    return most;
  }

  /** The tokens of a content stream with all forms that it draws. */
  async #streamTokens(object: PdfObject, resources: Resources, depth: number): Promise<number> {
    if (depth > bounds.documentDepthMax) throw new UnreadableDocument('its forms are nested too deeply');
    const byResources = this.#forms.get(object) ?? new Map<Resources, number | null>();
    this.#forms.set(object, byResources);
    const known = byResources.get(resources);
    if (known === null) throw new UnreadableDocument('its forms form a circle');
    if (known !== undefined) return known;
    byResources.set(resources, null);
    const content = await this.#contentOf(object);
    let tokens = this.#ownTokens(content);
    for (const [name, times] of content.drawn)
      tokens +=
        times * (await this.#mostOf(resources, 'XObject', name, (form) => this.#formTokens(form, resources, depth)));
    for (const [name, times] of content.marked)
      tokens += times * (await this.#mostOf(resources, 'Properties', name, async (one) => this.#propertyTokens(one)));
    byResources.set(resources, tokens);
    return tokens;
  }

  #ownTokens({ textBytes, tokensMax, strings }: PdfContent): number {
    return Math.max(tokensMax, textBytes * this.#tokensPerByte) + strings * TOKENS_PER_STRING;
  }

  #propertyTokens(value: PdfValue): number {
    return this.#pdf.dictionariesOf(value).reduce((most, one) => Math.max(most, textTokens(one)), 0);
  }

  /** The most that a name may stand for in any of the resources. */
  async #mostOf(
    resources: Resources,
    kind: string,
    name: string,
    measure: (value: PdfValue) => Promise<number>,
  ): Promise<number> {
    let most = 0;
    for (const one of resources) {
      for (const named of this.#pdf.dictionariesOf(one.get(kind))) {
        this.#work.addStep();
        const value = named.get(name);
        if (value !== undefined) most = Math.max(most, await measure(value));
      }
    }
    return most;
  }

  #contentOf(object: PdfObject): Promise<PdfContent> {
    const reading =
      this.#contents.get(object) ?? this.#pdf.decode(object).then((stream) => readContent(stream, this.#work));
    this.#contents.set(object, reading);
    return reading;
  }

  /** A font may give its codes any meaning: a table of them, or names of characters. */
  async #noteCodes(dictionary: PdfDictionary): Promise<void> {
    for (const table of this.#pdf.definitionsOf(dictionary.get('ToUnicode'))) {
      if (table.data === null) continue;
      await this.#work.pause();
      const { bytesMost, codeBytes } = await readCodes(await this.#pdf.decode(table), this.#work);
      this.#tokensPerByte = Math.max(this.#tokensPerByte, bytesMost / (codeBytes ?? 1));
    }
    for (const names of this.#pdf.valuesOf(dictionary.get('Differences'))) {
      for (const one of Array.isArray(names) ? names : [])
        if (one instanceof PdfName) this.#tokensPerByte = Math.max(this.#tokensPerByte, tokensOfName(one.name));
    }
  }
}

function raise(total: PdfMeasure, other: PdfMeasure): void {
  total.pages = Math.max(total.pages, other.pages);
  total.textTokensMax = Math.max(total.textTokensMax, other.textTokensMax);
}

/** The most tokens of all strings in a value itself. */
function textTokens(value: PdfValue): number {
  if (value instanceof PdfText) return value.tokensMax + TOKENS_PER_STRING;
  const inside = Array.isArray(value) ? value : value instanceof Map ? value.values() : [];
  let tokens = 0;
  for (const one of inside) tokens += textTokens(one);
  return tokens;
}

/** A name may stand for one character, for one of each part ("f_f_i"), or for many ("uni00660066"). */
function tokensOfName(name: string): number {
  if (/^[A-Za-z0-9]$/.test(name)) return 1;
  const digits = /^u(?:ni)?([0-9A-Fa-f]{4,})/.exec(name)?.[1] ?? '';
  return 3 * Math.max(name.split('_').length, Math.ceil(digits.length / 4), 1);
}
