// The attribution of a message: fixed tags of account, person and key, tags and sessions that the client sends, and the set of
// tags under which the daily totals count it.

import { type Caller, isTagValue, NO_TAGS, TAG_NAME, type Tags, tagsText, topOf } from '../accounts/accounts.ts';
import { periodStartMs } from '../base/clock.ts';
import { NO_TAG_SET, OTHER_TAG_SET, OTHER_VALUE } from '../base/tag-set-numbers.ts';
import type { Settings } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { type Attribution, NO_ATTRIBUTION } from '../ledger/ledger.ts';
import { isJsonObject, type MessageRequest } from '../wire/wire.ts';
import type { ClientRequest } from './client-request.ts';
import type { Gateway } from './dependencies.ts';

/** Not passed on to providers. */
export const TAGS_HEADER = 'x-turnpike-tags';
/** A tag that the client's own fields give, unless it sends one of this name. */
const USER_TAG = 'user';
const PARENT_TAG = 'parent_agent';

/** Names in the fields and headers of a client's own protocol. */
export interface NamedByClient {
  user: string | null;
  session: string | null;
  agent: string | null;
  parentAgent: string | null;
}

/** The tags that do not depend on the body. */
interface BaseTags {
  settings: Settings;
  header: string | null;
  tags: Tags;
  isPinned(name: string): boolean;
  required: readonly string[];
  /** The texts of the tags in the totals, and of the fixed ones among them. */
  text: string;
  lesser: string;
  /** The number of the set in a month, once it is known. */
  found: { monthMs: number; tagSet: number } | null;
  /** The latest attribution by these tags alone, which is the same for the model all day. */
  latest: { dayMs: number; model: string; attribution: Attribution } | null;
}

/** The latest per caller: most clients always send the same. */
const keptTags = new WeakMap<Caller, BaseTags>();

/**
 * `model`: the one of the offer. A promise only if this node does not know the set of tags yet. Throws invalid_request for tags that are malformed, and without a required one.
 */
export function attribute(
  gateway: Pick<Gateway, 'tagSets' | 'clock'>,
  settings: Settings,
  caller: Caller,
  clientRequest: ClientRequest,
  request: MessageRequest,
  model: string,
): Attribution | Promise<Attribution> {
  const header = clientRequest.header(TAGS_HEADER);
  const kept = keptTags.get(caller);
  const isSame = kept !== undefined && kept.settings === settings && kept.header === header;
  const base = isSame ? kept : baseTags(settings, caller, header);
  if (!isSame) keptTags.set(caller, base);
  const named = readNamed(clientRequest, request);
  const tags = named === null ? base.tags : withNamed(base, named);
  const required = clientRequest.item?.done == null ? base.required : []; // work that a provider has done is billed with the tags that it has
  for (const name of required) if (!Object.hasOwn(tags, name)) throw missingTag(name);
  const { session = null, agent = null } = named ?? {};
  if (tags === NO_TAGS && session === null && agent === null) return NO_ATTRIBUTION;
  const dayMs = periodStartMs('day', gateway.clock.nowMs());
  const { latest } = base;
  if (named === null && latest?.dayMs === dayMs && latest.model === model) return latest.attribution;
  const found = findTagSet(gateway, caller, base, tags);
  const attributed = (tagSet: number): Attribution => {
    const row = { company: topOf(caller), key: caller.key.id, model, tagSet };
    const attribution = { tags, session, agent, tagSet: gateway.tagSets.setOfRow(row, gateway.clock.nowMs()) };
    if (named === null && tagSet === base.found?.tagSet) base.latest = { dayMs, model, attribution };
    return attribution;
  };
  return found instanceof Promise ? found.then(attributed) : attributed(found);
}

/** The same tags have the same set for a month. */
function findTagSet(
  { tagSets, clock }: Pick<Gateway, 'tagSets' | 'clock'>,
  { account }: Caller,
  base: BaseTags,
  tags: Tags,
): number | Promise<number> {
  const { tagsInTotals } = base.settings;
  if (tagsInTotals !== null)
    return tagSets.find(account.id, tagsText(only(tags, tagsInTotals)), base.lesser, clock.nowMs());
  if (base.text === '') return NO_TAG_SET;
  const nowMs = clock.nowMs();
  const monthMs = periodStartMs('month', nowMs);
  if (base.found?.monthMs === monthMs) return base.found.tagSet;
  const tagSet = tagSets.find(account.id, base.text, base.lesser, nowMs);
  if (tagSet instanceof Promise || tagSet === OTHER_TAG_SET) return tagSet;
  base.found = { monthMs, tagSet };
  return tagSet;
}

/** The tags of key, person and accounts, which no client can replace. */
export function fixedTagsOf({ account, above, key, person }: Caller): Tags {
  const accounts = [...above.toReversed(), account]; // the nearest has the last word
  return Object.assign({}, key.tags, person?.tags, ...accounts.map(({ tags }) => tags));
}

function baseTags(settings: Settings, caller: Caller, header: string | null): BaseTags {
  const { account, above } = caller;
  const accounts = [...above.toReversed(), account];
  const required = accounts.flatMap(({ tagRules }) => tagRules?.required ?? []);
  const pinned = accounts.flatMap(({ tagRules }) => tagRules?.pinned ?? []);
  const allPinned = new Set([...settings.tagsPinned, ...pinned]);
  const isPinned = (name: string) => allPinned.has(name);
  const fixed = fixedTagsOf(caller);
  const sent = header === null ? NO_TAGS : parseTags(header);
  const open = Object.entries(sent).filter(([name]) => !isPinned(name));
  const all = { ...Object.fromEntries(open), ...fixed };
  const tags = Object.keys(all).length === 0 ? NO_TAGS : all;
  const { tagsInTotals } = settings;
  const counted = tagsInTotals === null ? tags : only(tags, tagsInTotals);
  // Beyond the sets that totals distinguish, only names that the operator chose are left of what clients send.
  const others = (tagsInTotals ?? []).filter((name) => Object.hasOwn(counted, name)).map((name) => [name, OTHER_VALUE]);
  const fixedCounted = tagsInTotals === null ? fixed : only(fixed, tagsInTotals);
  return {
    settings,
    header,
    tags,
    isPinned,
    required: [...new Set([...settings.tagsRequired, ...required])],
    text: tagsText(counted),
    lesser: tagsText({ ...Object.fromEntries(others), ...fixedCounted }),
    found: null,
    latest: null,
  };
}

function only(tags: Tags, names: readonly string[]): Tags {
  return Object.fromEntries(names.flatMap((name) => (Object.hasOwn(tags, name) ? [[name, tags[name] ?? '']] : [])));
}

function withNamed({ tags, isPinned }: BaseTags, { user, parentAgent }: NamedByClient): Tags {
  const more: Record<string, string> = {};
  if (user !== null && !Object.hasOwn(tags, USER_TAG) && !isPinned(USER_TAG)) more[USER_TAG] = user;
  if (parentAgent !== null && !Object.hasOwn(tags, PARENT_TAG) && !isPinned(PARENT_TAG)) more[PARENT_TAG] = parentAgent;
  return USER_TAG in more || PARENT_TAG in more ? { ...more, ...tags } : tags;
}

function missingTag(name: string): TurnpikeError {
  return new TurnpikeError(
    'invalid_request',
    `${TAGS_HEADER}: the tag "${name}" is required: send the header "${TAGS_HEADER}: ${name}=…", or ask who manages the key to set it`,
  );
}

/** The tags of a header: `team=search, env=prod`. Values may be percent-encoded. Throws invalid_request. */
export function parseTags(header: string): Tags {
  if (header.length > bounds.tagHeaderCharactersMax)
    throw wrongTags(`must have at most ${bounds.tagHeaderCharactersMax} characters`);
  const tags: Record<string, string> = {};
  const parts = header.split(',').filter((part) => part.trim() !== '');
  if (parts.length > bounds.tagsSentMax) throw wrongTags(`must have at most ${bounds.tagsSentMax} tags`);
  for (const part of parts) {
    const [given = '', ...rest] = part.split('=');
    const name = given.trim().toLowerCase();
    const value = decodeValue(rest.join('=').trim());
    if (rest.length === 0 || !TAG_NAME.test(name))
      throw wrongTags(
        `must be a list such as "team=search, env=prod", with names of a-z, 0-9, "_" and "-" that begin with a letter and have at most ${bounds.tagNameCharactersMax} characters`,
      );
    if (!isTagValue(value))
      throw wrongTags(
        `the value of "${name}" must have 1 to ${bounds.tagValueCharactersMax} characters, without commas and control characters`,
      );
    if (Object.hasOwn(tags, name)) throw wrongTags(`has the tag "${name}" twice`);
    tags[name] = value;
  }
  return tags;
}

function wrongTags(sentence: string): TurnpikeError {
  return new TurnpikeError('invalid_request', `${TAGS_HEADER}: ${sentence}`);
}

/** Invalid percent-encoding is literal. */
function decodeValue(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** null if the client names nothing. */
function readNamed(clientRequest: ClientRequest, request: MessageRequest): NamedByClient | null {
  if (request.protocol === 'messages') return readClaude(clientRequest, request);
  const ofBody = request.named ?? null;
  return request.protocol === 'responses' ? readCodex(clientRequest, ofBody) : ofBody && named(ofBody);
}

/** Headers and `metadata.user_id` of Claude Code 2.1.332, observed on 29 November 2026. */
function readClaude(clientRequest: ClientRequest, { body }: MessageRequest): NamedByClient | null {
  const session = clean(clientRequest.header('x-claude-code-session-id'));
  const { metadata } = body;
  const userId = isJsonObject(metadata) ? metadata['user_id'] : null;
  const ofBody = typeof userId === 'string' ? readUserId(userId) : null;
  if (session === null) return ofBody && named(ofBody);
  return {
    user: clean(ofBody?.user),
    session,
    agent: clean(clientRequest.header('x-claude-code-agent-id')),
    parentAgent: clean(clientRequest.header('x-claude-code-parent-agent-id')),
  };
}

/** A name, or what Claude Code makes of one: JSON, or earlier `user_…_account_…_session_…`. */
function readUserId(userId: string): Pick<NamedByClient, 'user' | 'session'> {
  if (userId.length <= bounds.namedCharactersMax && userId.startsWith('{')) {
    const members = parseMembers(userId);
    if (members !== null)
      return { user: members('account_uuid') ?? members('device_id'), session: members('session_id') };
  }
  const [, user, account, session] = /^user_(\w+?)_account_([\w-]*)_session_([\w-]+)$/.exec(userId) ?? [];
  return session === undefined ? { user: userId, session: null } : { user: account || (user ?? null), session };
}

/** Headers of Codex 0.171.0, observed on 29 November 2026; earlier ones write the first with "_". */
function readCodex(
  clientRequest: ClientRequest,
  ofBody: Pick<NamedByClient, 'user' | 'session'> | null,
): NamedByClient | null {
  const session = clientRequest.header('session-id') ?? clientRequest.header('session_id');
  if (session === null && ofBody === null) return null;
  const turn = session === null ? null : clientRequest.header('x-codex-turn-metadata');
  const members = turn === null || turn.length > bounds.namedCharactersMax ? null : parseMembers(turn);
  return {
    user: clean(ofBody?.user),
    session: clean(session ?? ofBody?.session),
    agent: clean(members?.('agent_name')),
    parentAgent: null,
  };
}

function named({ user, session }: Pick<NamedByClient, 'user' | 'session'>): NamedByClient | null {
  const own = { user: clean(user), session: clean(session), agent: null, parentAgent: null };
  return own.user === null && own.session === null ? null : own;
}

/** Reads texts of an object in JSON; null if it is none. */
function parseMembers(json: string): ((name: string) => string | null) | null {
  try {
    const value = JSON.parse(json);
    if (!isJsonObject(value)) return null;
    return (name) => {
      const member = Object.hasOwn(value, name) ? value[name] : null;
      return typeof member === 'string' && member !== '' ? member : null;
    };
  } catch {
    return null;
  }
}

/** Foreign text as it can be stored and shown; null if nothing is left. */
function clean(text: string | null | undefined): string | null {
  if (text == null) return null;
  const cut = text.slice(0, bounds.sessionCharactersMax);
  const whole = /[\p{Cc}]/u.test(cut) ? cut.replace(/\p{Cc}/gu, '') : cut;
  return whole.trim().toWellFormed() || null;
}
