// Reads the images and documents of a request, for a count of the prompt that no provider made: the texts of documents, for
// a tokenizer, and the tokens of everything else.

import {
  findBlock,
  isJsonObject,
  isSound,
  isSpokenAnswer,
  type JsonObject,
  type MessageRequest,
  objectOf,
  readImageSize,
  textOf,
} from '../wire/wire.ts';
import { DocumentWork, UnreadableDocument } from './document-work.ts';
import { imageTokens, pageImageTokens } from './image-tokens.ts';
import { isOle, isPdf, isTextType, isZip } from './measure-documents.ts';
import { readOfficeText } from './read-office-text.ts';
import { readPdfText } from './read-pdf-text.ts';
import { soundTokens } from './sound-tokens.ts';

export interface MediaContent {
  texts: string[];
  /** Tokens of images, of sound, of pages as images, and of text that a file does not tell. */
  tokens: number;
}

/** Reads all images and documents; null if their content cannot be known: files elsewhere, and files that cannot be read. */
export async function readMedia(
  request: Pick<MessageRequest, 'body' | 'spoken'>,
  model: string,
): Promise<MediaContent | null> {
  const sources: { isImage: boolean; source: JsonObject }[] = [];
  const sounds: string[] = [];
  findBlock(request.body, (block) => {
    const source = block['source'];
    if (isSpokenAnswer(block)) return false;
    if (isSound(block)) sounds.push(textOf(objectOf(source)['data']));
    else if (isJsonObject(source)) sources.push({ isImage: block['type'] === 'image', source });
    return false;
  });
  const content = new MediaReader(model);
  try {
    for (const { isImage, source } of sources) {
      if (isImage) content.addImage(source);
      else await content.addDocument(source);
    }
  } catch (thrown) {
    if (thrown instanceof UnreadableDocument) return null;
    throw thrown;
  }
  const { typical } = await soundTokens(sounds, [model]);
  return { texts: content.texts, tokens: Math.ceil(content.tokens) + typical + (request.spoken?.soundTokens ?? 0) };
}

class MediaReader {
  readonly texts: string[] = [];
  tokens = 0;
  readonly #models: readonly string[];
  readonly #work = new DocumentWork();

  constructor(model: string) {
    this.#models = [model];
  }

  /** Throws UnreadableDocument. */
  addImage(source: JsonObject): void {
    const { type, data } = source;
    if (type === 'url' || type === 'file') this.#addPicture(null);
    else if (type === 'base64' && typeof data === 'string') {
      if (textOf(source['media_type']).startsWith('image/')) this.#addPicture(data);
      else this.texts.push(data); // no provider takes it for an image
    }
  }

  /** Documents of other types are text, which is counted with the prompt. Throws UnreadableDocument. */
  async addDocument(source: JsonObject): Promise<void> {
    const { type, data } = source;
    if (type === 'url' || type === 'file') throw new UnreadableDocument('it is elsewhere');
    if (type !== 'base64' || typeof data !== 'string') return;
    const mediaType = textOf(source['media_type']);
    const file = Buffer.from(data, 'base64');
    await this.#work.pause();
    if (isPdf(isTextType(mediaType) ? '' : mediaType, data)) await this.#addPdf(file);
    else if (isZip(data)) await this.#addOffice(file);
    else if (isOle(data)) await this.#addOle(file);
    else if (isTextType(mediaType)) this.#addText(file.toString('utf8'));
    else throw new UnreadableDocument('its format is not known');
  }

  /** By the most that it may have if its dimensions are not known. */
  #addPicture(base64: string | null): void {
    const size = base64 === null ? null : readImageSize(base64);
    const { most, typical } = imageTokens(this.#models, size);
    const tokens = size === null ? most : typical;
    if (tokens === null) throw new UnreadableDocument('an image may have any size');
    this.tokens += tokens;
  }

  #addText(text: string): void {
    this.#work.addText(text.length);
    this.texts.push(text);
  }

  async #addPdf(file: Buffer): Promise<void> {
    const { pages, texts, untold } = await readPdfText(file, this.#work);
    for (const text of texts) this.texts.push(text);
    this.tokens += pages * pageImageTokens(this.#models).typical + untold;
  }

  async #addOffice(file: Buffer): Promise<void> {
    const { texts, pictures } = await readOfficeText(file, this.#work);
    for (const text of texts) this.texts.push(text);
    for (const picture of pictures) this.#addPicture(picture.toString('base64', 0, PICTURE_HEAD_BYTES));
  }

  /** Text of the older formats is in runs of characters of one or two bytes. */
  async #addOle(file: Buffer): Promise<void> {
    for (let at = 0; at < file.length; at += OLE_PIECE_BYTES) {
      const piece = file.toString('latin1', at, at + OLE_PIECE_BYTES);
      this.#work.addStep(piece.length);
      this.#addText((piece.match(OLE_RUNS) ?? []).join(' ').replaceAll('\0', ''));
      await this.#work.pause();
    }
  }
}

const PICTURE_HEAD_BYTES = 96 * 1024;
const OLE_PIECE_BYTES = 256 * 1024;
const OLE_RUNS = /(?:[\t\n\r\x20-\x7e\xa0-\xff]\0?){4,}/g;
