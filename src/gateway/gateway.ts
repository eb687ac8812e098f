// The path of one message, from request to reply. Start with `submitMessage`: its steps stand in order, with the step
// numbers of docs/request-path.md.

import {
  type AgentCaller,
  type Authenticated,
  authenticate,
  type Caller,
  type CallerPlan,
  groupsOf,
  planAt,
  topOf,
} from '../accounts/accounts.ts';
import type { Nano } from '../base/money.ts';
import {
  type AppliedPolicy,
  type CallerScope,
  type Catalog,
  checkFeatures,
  type Group,
  groupUnder,
  listOffers,
  MESSAGES_KIND,
  makesImages,
  type Offer,
  requireUnits,
  resolveModel,
  withOwnCredentials,
} from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { asTurnpikeError, TurnpikeError } from '../errors.ts';
import type { Admission, Levels, Settlement } from '../ledger/ledger.ts';
import type { BatchedCall, Provider } from '../providers/providers.ts';
import { type MessageRequest, type RequestFeatures, readFeatures, type Serves, servesOf } from '../wire/wire.ts';
import { admitMessage, refuseMessage } from './admit-message.ts';
import { addSpending, readSpending, refuseAgent } from './agent-limits.ts';
import { type Opened, openRoute } from './attempts.ts';
import { attribute } from './attribution.ts';
import type { ClientRequest, DoneWork, Reply, TextChange, WholeAnswer } from './client-request.ts';
import { countPrompt } from './count-tokens.ts';
import type { Gateway } from './dependencies.ts';
import { checkIdempotency, replayResponse } from './idempotency-records.ts';
import { inlineAddresses, reachOf } from './inline-addresses.ts';
import { insertFiles } from './insert-files.ts';
import { rateHeaders } from './last-levels.ts';
import { isAllowed, managedSettings, policyOf, requireAllowed } from './managed-settings.ts';
import { endedElsewhere, idempotencyError, isIdempotencyRefusal, refusalError } from './message-errors.ts';
import { releaseHold } from './message-record.ts';
import { describeModels, describeOneModel } from './models.ts';
import { OpenMessage } from './open-message.ts';
import { type AdmissionRequest, type MessagePlan, measureFor, type PlanTerms, planMessage } from './plan-message.ts';
import { captureCall } from './provider-request.ts';
import { Relay, untilCutOff } from './relay.ts';
import type { Slot } from './running-messages.ts';
import { describeKey, describeUsage } from './self-service.ts';
import { offerInBatch, offerInTier } from './sell-tier.ts';
import { usageOf } from './spend-limit.ts';
import { openSpoken } from './spoken-answers.ts';
import { findTargets } from './targets.ts';

export { AdmissionQueue, PromptCounts } from './admission-queue.ts';
export { fixedTagsOf } from './attribution.ts';
export type {
  BatchItem,
  BodyParser,
  ClientRequest,
  DoneWork,
  MessageReport,
  MessageTrace,
  Reply,
  TextChange,
  TracedRoute,
  TraceStart,
  WholeAnswer,
} from './client-request.ts';
export { type MessageTimes, SELECTORS, type Selector, startTimes } from './client-request.ts';
export { Conversations } from './conversations.ts';
export type { Gateway, MessageWaits } from './dependencies.ts';
export { findResponse, IdempotencyRecords } from './idempotency-records.ts';
export { namesFiles } from './insert-files.ts';
export { LastLevels } from './last-levels.ts';
export { type RefusalContext, refusalError } from './message-errors.ts';
export { type ListState, ModelLists } from './model-lists.ts';
export { CAPABILITIES, capabilitiesOf } from './models.ts';
export type { Recharges } from './recharges.ts';
export { listHealth, RouteHealth, type TargetHealth } from './route-health.ts';
export { type CutReason, RunningMessages, Slots } from './running-messages.ts';
export { planJson, type SelfServiceReader, SelfServiceReads } from './self-service.ts';
export { SilenceWatches } from './silence-watch.ts';
export { StreamHolds } from './stream-hold.ts';

/** After a slower body the caller is identified again: the key may have been revoked or rotated meanwhile. */
const SLOW_BODY_MS = 100;

/**
 * Handles one message. Returns the reply, whose body may be a stream, or the error before its first byte: an exception
 * costs more than the rest of a refusal. Throws or rejects with TurnpikeError if the key cannot be looked up.
 */
export function submitMessage(gateway: Gateway, clientRequest: ClientRequest): Submitted | Promise<Submitted> {
  const caller = identify(gateway, clientRequest); // 3
  if (caller instanceof TurnpikeError) return caller;
  if (caller instanceof Promise) return submitLater(gateway, clientRequest, caller);
  return submitAs(gateway, clientRequest, caller);
}

type Submitted = Reply | TurnpikeError;

async function submitLater(
  gateway: Gateway,
  clientRequest: ClientRequest,
  identifying: Promise<Authenticated>,
): Promise<Submitted> {
  const caller = await identifying;
  return caller instanceof TurnpikeError ? caller : submitAs(gateway, clientRequest, caller);
}

async function submitAs(gateway: Gateway, clientRequest: ClientRequest, identified: Caller): Promise<Submitted> {
  let catalog = gateway.catalog();
  let caller = identified;
  let headers: Record<string, string> | null = null;
  let slot: Slot | null = null;
  let held: AdmissionRequest | null = null;
  let message: OpenMessage | null = null;
  let opening: Opening | null = null;
  try {
    requireBrowserHeader(catalog, clientRequest); // 3
    slot = gateway.slots.take(topOf(caller)); // 3
    const admissionRequest = await readMessage(gateway, clientRequest, caller, clientRequest.item?.done == null); // 4 to 6
    ({ caller, catalog } = admissionRequest);
    const { request } = admissionRequest;
    const admitting = admitMessage(gateway, admissionRequest); // 8
    const admission = admitting instanceof Promise ? await admitting : admitting;
    if (isIdempotencyRefusal(admission)) {
      const lastKnown = headersLastKnown(gateway, catalog, caller, clientRequest);
      const reply = await replayResponse(gateway.answers, admissionRequest, admission, lastKnown); // 7
      slot.giveBack();
      return reply;
    }
    if (admission.ok) held = admissionRequest;
    gateway.tagSets.noteAdmission(caller.account.id, isAccountShort(admission));
    headers = rememberLevels(gateway, catalog, caller, clientRequest, admission.levels);
    if (!admission.ok) {
      slot.giveBack();
      const { agent } = clientRequest;
      if (agent !== null) return await refuseAgent(gateway, agent, admissionRequest, admission, headers);
      return refuseMessage(gateway, admissionRequest, admission, headers);
    }
    message = new OpenMessage(gateway, admissionRequest, admission, slot); // the message owns hold and slot now
    gateway.running.add(message);
    clientRequest.isAdmitted = true;
    opening = openMessage(gateway, message, request); // 9
    if (clientRequest.agent !== null) headers = await addSpending(gateway, clientRequest.agent, caller, headers);
    if (opening.relay !== null) return await replyWithStream(gateway, message, opening, headers); // 10, 11
    const opened = await untilCutOff(message, opening.opened);
    if (opened.form === 'bytes') {
      clientRequest.expect('stream');
      opened.relay.leaveWith(clientRequest.signal);
      return { status: 200, headers, body: opened.relay };
    }
    const answer = requireWhole(opened);
    requireOwnEnd(await message.complete()); // 11
    return { status: 200, headers, body: answer };
  } catch (thrown) {
    const error = asTurnpikeError(thrown);
    if (message?.isCutOff === true && opening !== null)
      finishCutOff(message, opening); // 9 to 11 go on for the bill
    else if (message !== null) await message.fail(error);
    else if (held !== null) await releaseHold(gateway, held, held.request.stream).catch(() => {}); // creating the message failed
    slot?.giveBack();
    return withHeaders(error, headers ?? headersLastKnown(gateway, catalog, caller, clientRequest));
  }
}

/** Reads a message, with what is fetched from addresses in it if `isFetched`, and plans its largest cost. Throws what its reading and its model may be refused for. */
async function readMessage(
  gateway: Gateway,
  clientRequest: ClientRequest,
  identified: Caller,
  isFetched: boolean,
): Promise<AdmissionRequest> {
  const isDone = clientRequest.item?.done != null;
  const bodyBytesMax = isDone ? bounds.bodyBytesMax : gateway.catalog().settings.bodyBytesMax; // it was checked when it was sent
  let caller = identified;
  const body = await clientRequest.readBody(bodyBytesMax, topOf(caller)); // 4
  if (clientRequest.times.bodyMs > SLOW_BODY_MS) caller = requireCaller(await identify(gateway, clientRequest)); // 3 again, with the current state
  const withFiles: TextChange = (text) => insertFiles(gateway, caller, clientRequest, text, bodyBytesMax);
  const sent = await clientRequest.parseBody(body, withFiles); // 5
  const claim = checkIdempotency(clientRequest, sent); // 5, before 8
  const listing = findListed(gateway, caller, sent.model, servesOf(sent.protocol)); // 6
  if (listing !== null) await listing;
  const catalog = gateway.catalog(); // a slow body does not keep the prices of its beginning
  const asked = makesImages(catalog, sent.model) ? await asImages(gateway, catalog, caller, clientRequest, sent) : sent; // 6
  const { offer, terms } = resolveOffer(gateway, catalog, caller, asked, clientRequest); // 6
  const opened = await openSpoken(gateway, caller, catalog, offer, asked, terms.features); // 6
  const reach = isFetched ? reachOf(catalog, offer) : 'off';
  const request =
    reach === 'off' && opened.form === undefined
      ? opened
      : await inlineAddresses(gateway, caller, clientRequest, opened, reach, bodyBytesMax); // 6
  const { name: model } = offer.model;
  const attributing = attribute(gateway, catalog.settings, caller, clientRequest, request, model); // 6
  const attribution = attributing instanceof Promise ? await attributing : attributing;
  const measuring = measureFor(request, offer);
  const measure = measuring instanceof Promise ? await measuring : measuring;
  const plan = planMessage(request, offer, terms, measure);
  if (clientRequest.item !== null && !isDone) requireBatchable(request, plan);
  return { clientRequest, caller, catalog, request, offer, terms, claim, plan, attribution };
}

/** Throws model_not_found first if the caller may not use the model, so that no other error tells that it exists. */
async function asImages(
  gateway: Gateway,
  catalog: Catalog,
  caller: Caller,
  { asImages: translate, item }: ClientRequest,
  sent: MessageRequest,
): Promise<MessageRequest> {
  if (translate === null || servesOf(sent.protocol) !== 'messages') return sent;
  if (item?.done == null) sellTo(catalog, caller, planOf(gateway, caller), sent.model, 'images');
  return await translate(sent);
}

/** The most that a request of a batch may cost: the group that sells its model, and the amount that its hold will have. */
export interface ItemPlan {
  group: Offer['group'];
  amount: Nano;
  model: string;
}

/** Plans a request of a batch without admitting it. Throws what it would be refused for before its admission. */
export async function planItem(gateway: Gateway, clientRequest: ClientRequest): Promise<ItemPlan> {
  const caller = requireCaller(await identify(gateway, clientRequest));
  const { offer, plan } = await readMessage(gateway, clientRequest, caller, false);
  return { group: offer.group, amount: plan.amount, model: offer.model.name };
}

/** A request of a batch as the batch of a provider has it. */
export interface PreparedItem extends BatchedCall {
  /** The target: names as in the catalog. */
  provider: string;
  upstreamModel: string;
  credential: string | null;
  /** The group that sells the model, and the most that the request may cost. */
  group: string;
  amount: Nano;
}

/**
 * A request of a batch for the batch of its first target, as that target would get it alone; null if the target has no batches. Throws what it would
 * be refused for before its admission.
 */
export async function prepareItem(gateway: Gateway, clientRequest: ClientRequest): Promise<PreparedItem | null> {
  const caller = requireCaller(await identify(gateway, clientRequest));
  const { catalog, request, offer, plan } = await readMessage(gateway, clientRequest, caller, true);
  const { targets } = findTargets(gateway, catalog, { account: caller.account.id, key: caller.key.id, offer, request });
  const [target] = targets;
  if (target?.settings.batches !== true || offer.tier !== undefined || request.hasSound === true) return null;
  const call = await captureCall(gateway, { request, clientRequest, maxTokens: plan.maxTokens }, target);
  if (call === null) return null;
  const { route, credential } = target;
  return {
    ...call,
    provider: route.provider,
    upstreamModel: route.upstreamModel,
    credential: credential?.name ?? null,
    group: offer.group.name,
    amount: plan.amount,
  };
}

/** Throws invalid_request and feature_unavailable for what has no place in a batch. */
function requireBatchable({ stream }: MessageRequest, { isAloneIfShort }: MessagePlan): void {
  if (stream) throw new TurnpikeError('invalid_request', 'stream: a request of a batch is not streamed');
  if (isAloneIfShort)
    throw new TurnpikeError(
      'feature_unavailable',
      'body: nothing limits what this request may cost, so it cannot be part of a batch. Limit its web searches, or send documents instead of addresses.',
    );
}

/** Whether money of the account, not only of the key or its person, is exhausted. */
function isAccountShort(admission: Admission): boolean {
  return !admission.ok && admission.reason === 'insufficient' && !admission.ofKey;
}

/** The rate headers of an admission or refusal, whose levels are remembered for other answers of the key. */
function rememberLevels(
  gateway: Gateway,
  catalog: Catalog,
  caller: Caller,
  clientRequest: ClientRequest,
  levels: Levels | null,
): Record<string, string> {
  if (levels === null) return headersLastKnown(gateway, catalog, caller, clientRequest);
  gateway.levels.remember(caller, catalog, levels);
  return rateHeaders(levels, clientRequest.vendorPrefix);
}

/** Counts the tokens of a prompt. Takes one request of the rate limit; free of charge. */
export function countTokens(gateway: Gateway, clientRequest: ClientRequest): Promise<Reply> {
  return answerCaller(gateway, clientRequest, async (caller, { settings }) => {
    using _seat = gateway.slots.take(topOf(caller));
    const body = await clientRequest.readBody(settings.bodyBytesMax, topOf(caller));
    const request = await clientRequest.parseBody(body, (text) =>
      insertFiles(gateway, caller, clientRequest, text, settings.bodyBytesMax),
    );
    const features = readFeatures(request, clientRequest.betas);
    await findListed(gateway, caller, request.model, 'messages');
    const catalog = gateway.catalog();
    const sold = sellTo(catalog, caller, planOf(gateway, caller), request.model);
    requireAllowed(policyIn(catalog, caller, clientRequest), request.model, sold);
    const offer = requireOwn(catalog, sold, caller, clientRequest, features);
    await takeRequest(gateway, catalog, caller, offer.group);
    const opened = await openSpoken(gateway, caller, catalog, offer, request, features);
    return countPrompt(gateway, { clientRequest, caller, catalog, request: opened, offer });
  });
}

/** Takes one request from the rates of the key and its accounts. Throws what a message is refused for. */
async function takeRequest(gateway: Gateway, catalog: Catalog, caller: Caller, group: Group): Promise<void> {
  const { account, key } = caller;
  const of = { account: account.id, key: key.id, group: group.name, limits: group.limits };
  const admission: Admission = await gateway.ledger.admit({ kind: 'take', ...of });
  if (isIdempotencyRefusal(admission)) throw idempotencyError(admission);
  gateway.levels.remember(caller, catalog, admission.levels);
  const context = { nowMs: gateway.clock.nowMs(), amount: 0, isLeast: false, headers: {}, maxTokensThatFit: 0 };
  if (!admission.ok) throw refusalError(admission, context);
}

/** The first group whose models the caller may use, with the limits of its plan. Throws model_not_found if there is none. */
function firstGroupOf(gateway: Gateway, catalog: Catalog, caller: Caller): Group {
  const plan = planOf(gateway, caller);
  for (const name of groupsOf(caller, plan)) {
    const group = catalog.groups.get(name);
    if (group !== undefined) return plan === null ? group : groupUnder(catalog, group, plan);
  }
  throw new TurnpikeError('model_not_found', 'This key may use no model.');
}

/** The models that the caller may use: the requested page. */
export function listModels(gateway: Gateway, clientRequest: ClientRequest): Promise<Reply> {
  return answerCaller(gateway, clientRequest, async (caller) => {
    await gateway.modelLists.refresh();
    const catalog = gateway.catalog();
    const policy = policyIn(catalog, caller, clientRequest);
    const isShown = (name: string) => policy === null || isAllowed(policy, name);
    const scope = scopeOf(caller, planOf(gateway, caller));
    return describeModels({ catalog, scope, providers: gateway.providers, isShown }, clientRequest.query);
  });
}

/** One model by name or alias. Throws model_not_found with status 404. */
export function getModel(gateway: Gateway, clientRequest: ClientRequest, id: string): Promise<Reply> {
  return answerCaller(gateway, clientRequest, async (caller) => {
    await findListed(gateway, caller, id, 'messages');
    const catalog = gateway.catalog();
    const policy = policyIn(catalog, caller, clientRequest);
    const isShown = (name: string) => policy === null || isAllowed(policy, name);
    const scope = scopeOf(caller, planOf(gateway, caller));
    return describeOneModel({ catalog, scope, providers: gateway.providers, isShown }, id);
  });
}

/** The key's limits, remaining amounts and reset times. */
export function getKey(gateway: Gateway, clientRequest: ClientRequest): Promise<Reply> {
  return answerCaller(gateway, clientRequest, (caller, catalog) => describeKey(gateway, caller, catalog));
}

/**
 * Managed settings for Claude Code of a signed-in person. `telemetryUrl`: where it sends its telemetry; null: nowhere. `known`: the
 * checksum that it has, as `if-none-match`. Throws object_not_found for other keys.
 */
export function getManagedSettings(
  gateway: Gateway,
  clientRequest: ClientRequest,
  telemetryUrl: string | null,
  known: string | null,
): Promise<Reply> {
  return answerCaller(gateway, clientRequest, async (caller) => {
    const agent = requireAgent(clientRequest);
    await gateway.modelLists.refresh();
    const catalog = gateway.catalog();
    const offers = listOffers(catalog, scopeOf(caller, planOf(gateway, caller)), 'messages');
    const { checksum, body } = managedSettings(policyOf(catalog, caller, agent), offers, telemetryUrl);
    const etag = `"${checksum}"`;
    const isKnown = known?.split(',').some((one) => one.trim().replace(/^W\//, '') === etag) ?? false;
    return { status: isKnown ? 304 : 200, body: isKnown ? '' : body, headers: { etag, vary: 'user-agent' } };
  });
}

/** Spending of a signed-in person, as Claude Code shows it. Throws object_not_found for other keys. */
export function getSpending(gateway: Gateway, clientRequest: ClientRequest): Promise<Reply> {
  return answerCaller(gateway, clientRequest, async (caller) => {
    requireAgent(clientRequest);
    const { meters, nowMs } = await readSpending(gateway, caller);
    return JSON.stringify(usageOf(meters, nowMs));
  });
}

/** Throws object_not_found for other keys. */
export async function identifyAgent(
  gateway: Gateway,
  clientRequest: ClientRequest,
): Promise<{ caller: Caller; agent: AgentCaller }> {
  const caller = requireCaller(await identify(gateway, clientRequest));
  return { caller, agent: requireAgent(clientRequest) };
}

function requireAgent({ agent }: ClientRequest): AgentCaller {
  if (agent === null) throw new TurnpikeError('object_not_found', 'Only for people who signed in with a coding agent.');
  return agent;
}

/** null: not a signed-in coding agent. */
function policyIn(catalog: Catalog, caller: Caller, { agent }: ClientRequest): AppliedPolicy | null {
  return agent === null ? null : policyOf(catalog, caller, agent);
}

/** Cost and usage of one message of the caller's key; status 202 while it is in progress. Throws object_not_found. */
export function getUsage(gateway: Gateway, clientRequest: ClientRequest, requestId: string): Promise<Reply> {
  return answerCaller(gateway, clientRequest, (caller) => describeUsage(gateway, caller, requestId, gateway.catalog()));
}

/** JSON with status 200, or with another status. */
type CallerAnswer<Body> = string | (Pick<Reply, 'status'> & Partial<Pick<Reply, 'headers'>> & { body: Body | string });

export interface CallerContext {
  /** Takes an in-flight slot, for a request that needs more than a lookup. Throws overloaded. */
  takeSlot(): Disposable;
  /** Takes one request from the rates, for one that makes others later. Throws what a message is refused for. */
  takeRequest(): Promise<void>;
  /** The caller after a slow body: the key may have been revoked meanwhile. */
  identifyAgain(): Promise<Caller>;
}

/** Answers a request that is not a message: the JSON of `answer`, or its error, with the last known rate headers. */
export async function answerCaller<Body = Reply['body']>(
  gateway: Gateway,
  clientRequest: ClientRequest,
  answer: (
    caller: Caller,
    catalog: Catalog,
    context: CallerContext,
  ) => CallerAnswer<Body> | Promise<CallerAnswer<Body>>,
): Promise<Omit<Reply, 'body'> & { body: Body | string }> {
  const catalog = gateway.catalog();
  const caller = requireCaller(await identify(gateway, clientRequest));
  const context: CallerContext = {
    takeSlot: () => gateway.slots.take(topOf(caller)),
    takeRequest: () => takeRequest(gateway, catalog, caller, firstGroupOf(gateway, catalog, caller)),
    identifyAgain: async () => requireCaller(await identify(gateway, clientRequest)),
  };
  try {
    const answered = await answer(caller, catalog, context);
    const { status, body, headers = {} } = typeof answered === 'string' ? { status: 200, body: answered } : answered;
    const lastKnown = headersLastKnown(gateway, gateway.catalog(), caller, clientRequest);
    return { status, headers: { ...lastKnown, ...headers }, body };
  } catch (thrown) {
    throw withHeaders(asTurnpikeError(thrown), headersLastKnown(gateway, gateway.catalog(), caller, clientRequest));
  }
}

function identify(gateway: Gateway, clientRequest: ClientRequest): ReturnType<typeof authenticate> {
  return authenticate(clientRequest.secret, clientRequest, gateway.clock.nowMs(), gateway.authenticator);
}

function requireCaller(authenticated: Authenticated): Caller {
  if (authenticated instanceof TurnpikeError) throw authenticated;
  return authenticated;
}

/** Required for messages only: lookups are free of charge. */
function requireBrowserHeader({ settings }: Catalog, clientRequest: ClientRequest): void {
  const { origin, browserDeclared, vendorPrefix } = clientRequest;
  if (!settings.requireBrowserHeader || origin === null || browserDeclared) return;
  throw new TurnpikeError(
    'browser_access_not_declared',
    `CORS requests must set '${vendorPrefix}-dangerous-direct-browser-access' header`,
  );
}

/**
 * An object stored at a provider may belong to another account. Unless the account has its own credential there, such
 * requests are refused; otherwise only its own routes are offered. So are requests with a header that selects an object;
 * only the provider's own protocol has such headers. Throws feature_unavailable.
 */
function requireOwn(
  catalog: Catalog,
  offer: Offer,
  caller: Caller,
  { selectors, vendorPrefix }: ClientRequest,
  { storedObject }: RequestFeatures,
): Offer {
  const [selector] = selectors ?? [];
  if (storedObject === null && selector === undefined) return offer;
  const own = withOwnCredentials(catalog, offer, caller.account.id, selector === undefined ? null : MESSAGES_KIND);
  if (own !== null) return own;
  const path = storedObject ?? `${vendorPrefix}-${selector?.name}`;
  throw new TurnpikeError(
    'feature_unavailable',
    `${path}: objects stored at a provider cannot be used with this service`,
  );
}

/** The plan of the caller's account, unless it has ended. */
function planOf({ clock }: Gateway, { plan }: Caller): CallerPlan | null {
  return plan === null ? null : planAt(plan, clock.nowMs());
}

function scopeOf(caller: Caller, plan: CallerPlan | null): CallerScope {
  return { account: caller.account.id, keyModels: caller.key.models, groups: groupsOf(caller, plan) };
}

/** Looks for a name that only the list of a provider may have; null if there is nothing to wait for. Throws upstream_failed. */
function findListed(gateway: Gateway, caller: Caller, name: string, serves: Serves): Promise<void> | null {
  if (gateway.catalog().patterns.size === 0) return null;
  return gateway.modelLists.find(scopeOf(caller, planOf(gateway, caller)), name, serves);
}

/** The offer of a model, with the limits of the plan. Throws model_not_found. */
function sellTo(catalog: Catalog, caller: Caller, plan: CallerPlan | null, name: string, serves?: Serves): Offer {
  const offer = resolveModel(catalog, scopeOf(caller, plan), name, serves);
  return plan === null ? offer : { ...offer, group: groupUnder(catalog, offer.group, plan) };
}

/** An offer with the provider of each of its routes. */
interface ProvidedOffer {
  offer: Offer;
  providers: readonly Provider[];
}

interface KeptOffer extends ProvidedOffer {
  catalog: Catalog;
  /** As requested. */
  name: string;
  serves: Serves;
  plan: CallerPlan | null;
}

/** The latest offer per caller: most clients use one model. */
const keptOffers = new WeakMap<Caller, KeptOffer>();

/** The offer, and the inputs of its plan other than the request. */
function resolveOffer(
  gateway: Gateway,
  catalog: Catalog,
  caller: Caller,
  request: MessageRequest,
  clientRequest: ClientRequest,
): { offer: Offer; terms: PlanTerms } {
  const done = clientRequest.item?.done ?? null;
  const sold =
    done === null ? findOffer(gateway, catalog, caller, request) : findDone(gateway, catalog, caller, request, done);
  const features = readFeatures(request, clientRequest.betas);
  requireAllowed(policyIn(catalog, caller, clientRequest), request.model, sold.offer);
  const own = requireOwn(catalog, sold.offer, caller, clientRequest, features);
  checkFeatures(own, features);
  if (features.sound !== null || features.speaks) request.hasSound = true;
  if (request.units !== undefined) request.units = requireUnits(own, request.units, request.unbounded);
  const inTier = offerInTier(gateway, catalog, own, features.tier);
  const offer = clientRequest.item === null ? inTier : offerInBatch(inTier, catalog.settings);
  const providers = offer === sold.offer ? sold.providers : providersOf(gateway, catalog, offer);
  const passthroughs = offer.routes.flatMap(({ provider }) => catalog.providers.get(provider)?.passthrough ?? []);
  return { offer, terms: { features, settings: catalog.settings, providers, passthroughs } };
}

function findOffer(gateway: Gateway, catalog: Catalog, caller: Caller, request: MessageRequest): ProvidedOffer {
  const { model: name } = request;
  const serves = servesOf(request.protocol);
  const plan = planOf(gateway, caller);
  const kept = keptOffers.get(caller);
  if (kept?.catalog === catalog && kept.name === name && kept.serves === serves && kept.plan === plan) return kept;
  const offer = sellTo(catalog, caller, plan, name, serves);
  const found = { catalog, name, serves, plan, offer, providers: providersOf(gateway, catalog, offer) };
  keptOffers.set(caller, found);
  return found;
}

/** The offer of work that a provider did: neither the key nor the account may have narrowed it since. */
function findDone(
  gateway: Gateway,
  catalog: Catalog,
  { account }: Caller,
  { model, protocol }: MessageRequest,
  { groups }: DoneWork,
): ProvidedOffer {
  const offer = resolveModel(catalog, { account: account.id, keyModels: null, groups }, model, servesOf(protocol));
  return { offer, providers: providersOf(gateway, catalog, offer) };
}

function providersOf(gateway: Gateway, catalog: Catalog, { routes }: Offer): Provider[] {
  return routes.map(({ provider: name }) => {
    const provider = gateway.providers.get(catalog.providers.get(name)?.kind ?? '');
    if (provider !== undefined) return provider;
    throw new TurnpikeError('internal', 'A provider of this model has a kind that this version does not support.');
  });
}

interface Opening {
  opened: Promise<Opened>;
  /** null if the message is not streamed. */
  relay: Relay | null;
}

/** Begins to open a target, and watches for the client's disconnect from now on. */
function openMessage(gateway: Gateway, message: OpenMessage, request: MessageRequest): Opening {
  const { signal } = message.admitted.clientRequest;
  if (signal.aborted) {
    message.leave();
    throw new TurnpikeError('internal', 'The client disconnected before the message was sent to the provider.');
  }
  const opened = openRoute(gateway, message, request);
  request.form?.keepUntil(opened);
  const { pingIntervalMs } = gateway.waits ?? bounds;
  const relay = message.admitted.isStream ? new Relay(message, opened, pingIntervalMs) : null;
  opened.catch(() => {}); // the relay or the reply handles the error; this prevents an unhandled rejection before it does
  signal.addEventListener('abort', () => (relay ?? message).leave());
  return { opened, relay };
}

/** Finishes a message that was cut off before its answer began: its client has been told. */
function finishCutOff(message: OpenMessage, { opened, relay }: Opening): void {
  if (relay !== null) relay.leave();
  else
    opened
      .then(async (answer) => void (await (answer.form === 'bytes' ? answer.relay.drain() : message.complete())))
      .catch((thrown) => message.fail(asTurnpikeError(thrown)))
      .catch(() => undefined); // the ledger retries the settlement
}

function requireWhole(opened: Opened): WholeAnswer {
  if (opened.form === 'message') return opened.answer;
  throw new TurnpikeError('upstream_failed', 'The provider of this model returned a stream, but none was requested.');
}

/** Throws unless the message was ended by this node. */
function requireOwnEnd(settlement: Settlement): void {
  if (!settlement.ok) throw endedElsewhere();
}

/**
 * The stream. Its status 200 waits for the first upstream event, or for the longest time that a client may wait
 * without a byte.
 */
async function replyWithStream(
  { waits = bounds }: Gateway,
  message: OpenMessage,
  { opened, relay }: Opening,
  headers: Record<string, string>,
): Promise<Reply> {
  message.admitted.clientRequest.expect('stream');
  let timer: ReturnType<typeof setTimeout> | undefined;
  const waited = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, waits.firstEventWaitMs);
  });
  try {
    await untilCutOff(message, Promise.race([opened, waited]));
  } finally {
    clearTimeout(timer);
  }
  return { status: 200, headers, body: relay as Relay, requestInUse: opened };
}

/** The rate headers of an answer that takes nothing from the meters. */
function headersLastKnown(
  gateway: Gateway,
  catalog: Catalog,
  caller: Caller,
  clientRequest: ClientRequest,
): Record<string, string> {
  return rateHeaders(gateway.levels.find(caller, catalog, gateway.clock.nowMs()), clientRequest.vendorPrefix);
}

/** The error with additional headers; the same object if it already has them all. */
function withHeaders(error: TurnpikeError, headers: Record<string, string>): TurnpikeError {
  if (error.details.headers === headers || Object.keys(headers).length === 0) return error;
  return new TurnpikeError(error.code, error.message, {
    ...error.details,
    headers: { ...headers, ...error.details.headers },
  });
}
