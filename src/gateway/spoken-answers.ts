// Ids of spoken answers, which clients send back in place of the sound. A provider keeps an answer for everyone with the same credential,
// so clients get its id sealed, with the account and the target that it belongs to. Nothing is stored here.

import type { Caller } from '../accounts/accounts.ts';
import { isWholeNumber } from '../base/checked-number.ts';
import { type Catalog, checkFeatures, type Offer } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import type { Vault } from '../secrets/secrets.ts';
import { recalledTokensMost, spokenTokensMost } from '../usage/usage.ts';
import {
  findBlock,
  isSound,
  isSpokenAnswer,
  type JsonObject,
  jsonObjects,
  type MessageRequest,
  makeEvent,
  objectOf,
  parseExactly,
  pauseAfter,
  type RequestFeatures,
  remakeRequest,
  type SpokenAnswers,
  type StreamEvent,
  textOf,
  wrongField,
} from '../wire/wire.ts';
import type { WholeAnswer } from './client-request.ts';
import type { Gateway } from './dependencies.ts';
import type { AdmittedRequest } from './plan-message.ts';
import type { Target } from './route-health.ts';
import { keeps, listTargets } from './targets.ts';

const PREFIX = 'audio_';
const CONTEXT = 'spoken answer';

/** Content of an id that a client gets. */
interface Sealed extends SpokenAnswers {
  account: number;
  /** The provider's own. */
  id: string;
  /** In seconds, as the provider said; null: it did not. */
  expiresAt: number | null;
}

/** Seals the ids in the answer of one attempt. */
export class SpokenIds {
  readonly #vault: Pick<Vault, 'seal'>;
  readonly #account: number;
  readonly #target: Pick<Target, 'route' | 'credential'>;
  readonly #tokensMax: number;
  #open: JsonObject = {}; // the members of the open block, without its sound
  #soundCharacters = 0;

  constructor(
    { vault }: Pick<Gateway, 'vault'>,
    { caller, maxTokens }: Pick<AdmittedRequest, 'caller' | 'maxTokens'>,
    target: Pick<Target, 'route' | 'credential'>,
  ) {
    this.#vault = vault;
    this.#account = caller.account.id;
    this.#target = target;
    this.#tokensMax = maxTokens;
  }

  /** In a stream the id follows the sound, because it says how much there was. */
  sealEvents(events: StreamEvent[]): StreamEvent[] {
    return events.flatMap((event) => this.#sealEvent(event));
  }

  /** `reported` are the tokens of sound; null: the provider did not say. */
  sealMessage({ text, message }: WholeAnswer, reported: number | null): WholeAnswer {
    const written = parseExactly(text);
    const blocks = [written, message]
      .flatMap((one) => jsonObjects(objectOf(one ?? undefined)['content']))
      .filter(isSound);
    if (blocks.length === 0) return { text, message };
    for (const block of blocks) {
      const id = this.#seal(block, reported ?? spokenTokensMost(textOf(block['data']).length, true));
      delete block['id'];
      if (id !== null) block['id'] = id;
    }
    return { text: JSON.stringify(written), message };
  }

  #sealEvent(event: StreamEvent): StreamEvent[] {
    const { value } = event;
    if (event.name === 'content_block_stop') return [...this.#idBefore(value), event];
    const delta = objectOf(value['delta']);
    if (delta['type'] !== 'audio_delta') return [event];
    const { id, ...audio } = objectOf(delta['audio']);
    const { data, transcript, ...others } = audio;
    this.#soundCharacters += textOf(data).length;
    Object.assign(this.#open, others, id !== undefined && { id });
    this.#open['transcript'] = textOf(this.#open['transcript']) + textOf(transcript);
    if (id === undefined) return [event];
    if (Object.keys(audio).length === 0) return [];
    return [makeEvent({ ...value, type: event.name, delta: { ...delta, audio } })];
  }

  #idBefore({ index = 0 }: JsonObject): StreamEvent[] {
    const id = this.#seal(this.#open, spokenTokensMost(this.#soundCharacters, false));
    this.#open = {};
    this.#soundCharacters = 0;
    if (id === null) return [];
    return [makeEvent({ type: 'content_block_delta', index, delta: { type: 'audio_delta', audio: { id } } })];
  }

  /** null: the provider gave it no id that it may be asked for. */
  #seal({ id, expires_at: expiresAt, transcript }: JsonObject, tokens: number): string | null {
    if (typeof id !== 'string' || id === '' || id.length > bounds.spokenIdCharactersMax) return null;
    const { route, credential } = this.#target;
    const sealed: Sealed = {
      account: this.#account,
      provider: route.provider,
      credential: credential?.name ?? null,
      id,
      expiresAt: isWholeNumber(expiresAt) ? expiresAt : null,
      soundTokens: recalledTokensMost(Math.min(tokens, this.#tokensMax)),
      textBytes: Buffer.byteLength(textOf(transcript)),
    };
    return PREFIX + this.#vault.seal(JSON.stringify(sealed), CONTEXT);
  }
}

/** An earlier answer in a request. */
interface Earlier {
  block: JsonObject;
  /** The path of its id. */
  path: string;
  sealed: Sealed;
  isExpired: boolean;
}

/**
 * The request with the provider's own ids, for the targets that have all of these answers; without such a target, for an answer that has
 * expired, or where sound has no price, with the transcripts that the client sent. The same request without earlier answers. Rejects with invalid_request by the path of
 * an id.
 */
export async function openSpoken(
  { vault, clock }: Pick<Gateway, 'vault' | 'clock'>,
  caller: Caller,
  catalog: Catalog,
  offer: Offer,
  request: MessageRequest,
  features: RequestFeatures,
): Promise<MessageRequest> {
  if (features.spoken === null) return request;
  await pauseAfter(request.text);
  const message = parseExactly(request.text) as JsonObject;
  const earlier = openAll(vault, caller, message, clock.nowMs() / 1_000);
  const isUsable = earlier.every(({ isExpired }) => !isExpired);
  const asSound = { ...features, sound: features.spoken };
  const hasTexts = earlier.every(({ block }) => textFor(block) !== '');
  const targets = listTargets(catalog, offer, caller.account.id);
  const found = targets.find((target) => isUsable && earlier.every(({ sealed }) => keeps(target, sealed)));
  if (found === undefined || (hasTexts && !sells(offer, asSound))) {
    for (const { block, path, isExpired } of earlier) useTranscript(block, path, isExpired);
    return await remakeRequest(request, message, null);
  }
  checkFeatures(offer, asSound);
  for (const { block, sealed } of earlier) {
    block['id'] = sealed.id;
    delete block['transcript'];
  }
  const { route, credential } = found;
  const spoken: SpokenAnswers = {
    provider: route.provider,
    credential: credential?.name ?? null,
    soundTokens: earlier.reduce((sum, { sealed }) => sum + sealed.soundTokens, 0),
    textBytes: earlier.reduce((sum, { sealed }) => sum + sealed.textBytes, 0),
  };
  return { ...(await remakeRequest(request, message, null)), hasSound: true, spoken };
}

function openAll(vault: Pick<Vault, 'open'>, caller: Caller, message: JsonObject, now: number): Earlier[] {
  const blocks: JsonObject[] = [];
  findBlock(message, (block) => {
    if (isSpokenAnswer(block)) blocks.push(block);
    return false;
  });
  return blocks.map((block, place) => {
    const path = `${findBlock(message, (one) => one === block)}.id`;
    if (place >= bounds.spokenAnswersMax)
      throw wrongField(path, `at most ${bounds.spokenAnswersMax} spoken answers are accepted`);
    const sealed = open(vault, textOf(block['id']));
    if (sealed?.account !== caller.account.id) throw wrongField(path, 'No such audio');
    return { block, path, sealed, isExpired: sealed.expiresAt !== null && sealed.expiresAt <= now };
  });
}

function open(vault: Pick<Vault, 'open'>, id: string): Sealed | null {
  if (!id.startsWith(PREFIX)) return null;
  try {
    return JSON.parse(vault.open(id.slice(PREFIX.length), CONTEXT)) as Sealed;
  } catch {
    return null; // altered, of another installation, or not from here
  }
}

/** Whether the model has a price for the sound. */
function sells(offer: Offer, features: RequestFeatures): boolean {
  try {
    checkFeatures(offer, features);
    return true;
  } catch {
    return false;
  }
}

function textFor(block: JsonObject): string {
  return textOf(block['text']) || textOf(block['transcript']);
}

/** Puts the transcript in the place of an answer. */
function useTranscript(block: JsonObject, path: string, isExpired: boolean): void {
  const text = textFor(block);
  if (text === '')
    throw wrongField(
      path,
      `${isExpired ? 'This audio has expired' : 'No route of this model has this audio'}. Send its transcript as text`,
    );
  for (const name of Object.keys(block)) delete block[name];
  Object.assign(block, { type: 'text', text });
}
