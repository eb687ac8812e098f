// The texts of a PDF file, page by page in the order of its page tree. Where readers may see different definitions of an
// object, the longest text counts.

import { bounds } from '../config/config.ts';
import { type DocumentWork, UnreadableDocument } from './document-work.ts';
import { readOperations } from './pdf-content.ts';
import { openPdf, type PdfFile, type Resources } from './pdf-file.ts';
import { type PdfFont, readFont } from './pdf-font.ts';
import { type PdfDictionary, PdfName, type PdfObject, PdfText, type PdfValue } from './pdf-objects.ts';
import { type DrawnText, NO_TEXT, PageText } from './pdf-page-text.ts';

export interface PdfTexts {
  pages: number;
  texts: string[];
  /** Codes that stand for text which the file does not tell. */
  untold: number;
}

const NO_PAGES: PdfTexts = { pages: 0, texts: [], untold: 0 };
const CONTENTS_DEPTH_MAX = 16;

/** Throws UnreadableDocument. */
export async function readPdfText(file: Buffer, work: DocumentWork): Promise<PdfTexts> {
  return new PdfTextReader(await openPdf(file, work), work).read();
}

class PdfTextReader {
  readonly #pdf: PdfFile;
  readonly #work: DocumentWork;
  readonly #nodes = new Map<PdfDictionary, PdfTexts | null>();
  readonly #fonts = new Map<PdfDictionary, Promise<PdfFont>>();
  /** Texts of a form by the resources that it is drawn with; null while it is read. */
  readonly #forms = new Map<PdfObject, Map<Resources, DrawnText | null>>();
  #inherited: Resources = [];

  constructor(pdf: PdfFile, work: DocumentWork) {
    this.#pdf = pdf;
    this.#work = work;
  }

  async read(): Promise<PdfTexts> {
    const dictionaries = this.#pdf.dictionaries();
    this.#inherited = this.#pdf.inheritedResources(dictionaries);
    let longest = NO_PAGES;
    for (const root of this.#pdf.roots(dictionaries)) longest = longerPages(longest, await this.#readNode(root, 0));
    return longest;
  }

  /** A page, or a node of the page tree. */
  async #readNode(node: PdfDictionary, depth: number): Promise<PdfTexts> {
    const known = this.#nodes.get(node);
    if (known === null || depth > bounds.documentDepthMax) throw new UnreadableDocument('its pages form a circle');
    if (known !== undefined) return known;
    this.#nodes.set(node, null);
    const read = node.has('Kids') ? await this.#readKids(node, depth) : await this.#readPage(node);
    this.#nodes.set(node, read);
    return read;
  }

  async #readKids(node: PdfDictionary, depth: number): Promise<PdfTexts> {
    let longest = NO_PAGES;
    for (const kids of this.#pdf.valuesOf(node.get('Kids'))) {
      const sum: PdfTexts = { pages: 0, texts: [], untold: 0 };
      for (const kid of Array.isArray(kids) ? kids : []) {
        let read = NO_PAGES;
        for (const one of this.#pdf.dictionariesOf(kid)) read = longerPages(read, await this.#readNode(one, depth + 1));
        this.#work.addText(read.untold);
        for (const text of read.texts) {
          this.#work.addStep();
          this.#work.addText(text.length);
          sum.texts.push(text);
        }
        sum.pages += read.pages;
        sum.untold += read.untold;
      }
      longest = longerPages(longest, sum);
    }
    return longest;
  }

  async #readPage(page: PdfDictionary): Promise<PdfTexts> {
    this.#work.addStep();
    const resources = page.has('Resources') ? this.#pdf.resourcesOf(page) : this.#inherited;
    let drawn = NO_TEXT;
    for (const contents of this.#pdf.definitionsOf(page.get('Contents'))) {
      const text = this.#pageText(resources, 0);
      await this.#drawContents(text, contents, resources, 0);
      drawn = longer(drawn, text.drawn());
    }
    const all = this.#pageText(resources, 0);
    all.addApart(drawn);
    for (const annotations of this.#pdf.valuesOf(page.get('Annots')))
      for (const one of Array.isArray(annotations) ? annotations : [])
        for (const annotation of this.#pdf.dictionariesOf(one)) all.addApart(await this.#appearance(annotation));
    const { text, untold } = all.drawn();
    return { pages: 1, texts: text === '' ? [] : [text], untold };
  }

  /** A stream, or several that readers join. */
  async #drawContents(text: PageText, contents: PdfObject, resources: Resources, depth: number): Promise<void> {
    if (depth > CONTENTS_DEPTH_MAX) throw new UnreadableDocument('contents form a circle');
    if (contents.data !== null) {
      await readOperations(await this.#pdf.decode(contents), this.#work, (operations) => text.take(operations));
      return;
    }
    for (const one of Array.isArray(contents.value) ? contents.value : []) {
      const definitions = this.#pdf.definitionsOf(one);
      const [only] = definitions;
      if (only !== undefined && definitions.length === 1) await this.#drawContents(text, only, resources, depth + 1);
      else text.addApart(await this.#longestOf(definitions, resources, depth + 1));
    }
  }

  async #longestOf(definitions: readonly PdfObject[], resources: Resources, depth: number): Promise<DrawnText> {
    let drawn = NO_TEXT;
    for (const definition of definitions) {
      const own = this.#pageText(resources, 0);
      await this.#drawContents(own, definition, resources, depth);
      drawn = longer(drawn, own.drawn());
    }
    return drawn;
  }

  /** The normal appearance of an annotation; of several states, the longest. */
  async #appearance(annotation: PdfDictionary): Promise<DrawnText> {
    let drawn = NO_TEXT;
    for (const appearances of this.#pdf.dictionariesOf(annotation.get('AP')))
      for (const object of this.#pdf.definitionsOf(appearances.get('N'))) {
        const states = object.data === null && object.value instanceof Map ? [...object.value.values()] : [];
        if (object.data !== null) drawn = longer(drawn, await this.#formText(object, this.#inherited, 0));
        for (const state of states)
          for (const form of this.#pdf.definitionsOf(state))
            drawn = longer(drawn, await this.#formText(form, this.#inherited, 0));
      }
    return drawn;
  }

  #pageText(resources: Resources, depth: number): PageText {
    const fonts = new Map<string, PdfFont | null>();
    return new PageText(
      {
        font: (name) => {
          const known = fonts.get(name);
          return known !== undefined
            ? known
            : this.#font(name, resources).then((font) => {
                fonts.set(name, font);
                return font;
              });
        },
        form: async (name) => {
          let drawn = NO_TEXT;
          for (const form of this.#named(resources, 'XObject', name))
            for (const object of this.#pdf.definitionsOf(form))
              drawn = longer(drawn, await this.#formText(object, resources, depth));
          return drawn;
        },
        markedBytes: (name) => {
          const properties = this.#named(resources, 'Properties', name).flatMap((one) => this.#pdf.dictionariesOf(one));
          const texts = properties.flatMap((one) => this.#pdf.valuesOf(one.get('ActualText')));
          return texts.reduce<number>((most, one) => Math.max(most, one instanceof PdfText ? one.bytes : 0), 0);
        },
      },
      this.#work,
    );
  }

  async #font(name: string, resources: Resources): Promise<PdfFont | null> {
    const dictionary = this.#named(resources, 'Font', name)
      .flatMap((one) => this.#pdf.dictionariesOf(one))
      .at(-1);
    if (dictionary === undefined) return null;
    const font = this.#fonts.get(dictionary) ?? readFont(this.#pdf, dictionary, this.#work);
    this.#fonts.set(dictionary, font);
    return font;
  }

  /** A form with all that it draws; pictures have no text. */
  async #formText(object: PdfObject, resources: Resources, depth: number): Promise<DrawnText> {
    if (!(object.value instanceof Map) || object.data === null) return NO_TEXT;
    const kind = this.#pdf.valuesOf(object.value.get('Subtype')).at(-1);
    if (kind instanceof PdfName && kind.name === 'Image') return NO_TEXT;
    if (depth > bounds.documentDepthMax) throw new UnreadableDocument('its forms are nested too deeply');
    const own = object.value.has('Resources') ? this.#pdf.resourcesOf(object.value) : resources;
    const byResources = this.#forms.get(object) ?? new Map<Resources, DrawnText | null>();
    this.#forms.set(object, byResources);
    const known = byResources.get(own);
    if (known === null) throw new UnreadableDocument('its forms form a circle');
    if (known !== undefined) return known;
    byResources.set(own, null);
    const text = this.#pageText(own, depth + 1);
    await readOperations(await this.#pdf.decode(object), this.#work, (operations) => text.take(operations));
    const drawn = text.drawn();
    byResources.set(own, drawn);
    return drawn;
  }

  /** All that a name may stand for in the resources. */
  #named(resources: Resources, kind: string, name: string): PdfValue[] {
    return resources.flatMap((one) =>
      this.#pdf.dictionariesOf(one.get(kind)).flatMap((named) => {
        this.#work.addStep();
        const value = named.get(name);
        return value === undefined ? [] : [value];
      }),
    );
  }
}

function longer(one: DrawnText, other: DrawnText): DrawnText {
  return other.text.length + other.untold > one.text.length + one.untold ? other : one;
}

function longerPages(one: PdfTexts, other: PdfTexts): PdfTexts {
  const lengthOf = ({ texts, untold }: PdfTexts) => texts.reduce((sum, text) => sum + text.length, untold);
  const difference = lengthOf(other) - lengthOf(one);
  return difference > 0 || (difference === 0 && other.pages > one.pages) ? other : one;
}
