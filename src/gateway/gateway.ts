// The path of one message, from a submission to a reply: read `submitMessage` first. Every step
// stands in order; the error that may leave it is in docs/request-path.md.

import { authenticate, type Caller, groupsOf } from '../accounts/accounts.ts';
import {
  type CallerScope,
  type Catalogue,
  checkFeatures,
  type Offer,
  resolveModel,
  withOwnCredentials,
} from '../catalog/catalog.ts';
import { bounds } from '../config.ts';
import { asTurnpikeError, TurnpikeError } from '../errors.ts';
import type { Admitted, Refusal } from '../ledger/ledger.ts';
import { type MessageRequest, parseMessageRequest, readFeatures } from '../wire/wire.ts';
import { admitMessage, refuseMessage } from './admit-message.ts';
import { type Opened, openRoute } from './attempts.ts';
import { countPrompt } from './count-tokens.ts';
import type { Gateway } from './dependencies.ts';
import { describeKey } from './describe-key.ts';
import { describeUsage } from './describe-usage.ts';
import { answerOnceMore, readClaim } from './idempotency.ts';
import { describeModels, describeOneModel } from './models.ts';
import { OpenMessage } from './open-message.ts';
import type { PlanTerms } from './plan-message.ts';
import { rateHeaders } from './rate-headers.ts';
import { claimError, isClaimRefusal, refusalError } from './refusal-error.ts';
import { leaveMessage, relay } from './relay.ts';
import { type Held, releaseHold } from './release-hold.ts';
import type { Seat } from './seats.ts';
import type { Reply, Submission } from './submission.ts';

export { Covers } from './covers.ts';
export type { Gateway, StreamWaits } from './dependencies.ts';
export { KeptAnswers } from './kept-answers.ts';
export { LastLevels } from './last-levels.ts';
export { type MessageTimes, startTimes } from './message-times.ts';
export type { MessageTrace, TracedRoute, TraceStart } from './message-trace.ts';
export { type OwnReader, OwnReads } from './own-reads.ts';
export { PromptCounts } from './prompt-counts.ts';
export { Conversations, listHealth, RouteHealth, type TargetHealth } from './routes/routes.ts';
export { type CutReason, type Running, RunningMessages } from './running-messages.ts';
export { Seats } from './seats.ts';
export { SilenceWatches } from './silence-watch.ts';
export type { MessageReport, Reply, Submission } from './submission.ts';

/** A body that takes longer may end under a secret that was replaced meanwhile, which admission does not see. */
const SLOW_BODY_MS = 100;

/**
 * Submits one message. Resolves to the reply, whose body may be a stream that is still to come;
 * throws TurnpikeError for everything that is answered before the first byte.
 */
export async function submitMessage(gateway: Gateway, submission: Submission): Promise<Reply> {
  const catalogue = gateway.catalogue();
  let caller = await identify(gateway, submission); // 3
  submission.caller = caller;
  let headers: Record<string, string> | null = null;
  let seat: Seat | null = null;
  let held: Held | null = null;
  let message: OpenMessage | null = null;
  try {
    requireBrowserHeader(catalogue, submission); // 3
    seat = gateway.seats.take(caller.account.id); // 3
    const bytes = await submission.readBody(catalogue.settings.bodyBytesMax, caller.account.id); // 4
    if (submission.times.bodyMs > SLOW_BODY_MS) caller = await identify(gateway, submission); // 3, as it is now
    const request = parseMessageRequest(bytes, submission.protocol); // 5
    const claim = readClaim(submission.idempotencyKey, bytes); // 5, taken with 8
    const { offer, terms } = resolveOffer(gateway, catalogue, caller, request, submission.betas); // 6
    const asked = { submission, caller, request, offer, terms, claim };
    const { plan, admission } = await admitMessage(gateway, asked); // 8
    if (isClaimRefusal(admission)) {
      const lastKnown = headersLastKnown(gateway, catalogue, caller, submission);
      const reply = await answerOnceMore(gateway, asked, admission, lastKnown); // 7
      seat.giveBack();
      return reply;
    }
    const tellLevels = () => rememberLevels(gateway, catalogue, caller, submission, admission);
    if (!admission.ok) throw refuseMessage(gateway, asked, plan, admission, tellLevels());
    held = { ...asked, requestId: submission.requestId, isStream: request.stream };
    message = new OpenMessage(gateway, asked, plan, admission, seat); // it owns hold and seat now
    gateway.running.add(message);
    submission.isAdmitted = true;
    message.beginTrace();
    headers = tellLevels();
    const opening = openMessage(gateway, message); // 9
    return request.stream
      ? await replyWithStream(gateway, message, opening, headers) // 10, 11
      : await replyWithMessage(message, opening, headers); // 11
  } catch (thrown) {
    const error = asTurnpikeError(thrown);
    if (message !== null) await message.fail(error);
    else if (held !== null) await releaseHold(gateway, held).catch(() => {}); // it could not be made
    seat?.giveBack();
    throw withHeaders(error, headers ?? headersLastKnown(gateway, catalogue, caller, submission));
  }
}

/** The rate headers of an admission or refusal, which other answers of the key will bear too. */
function rememberLevels(
  gateway: Gateway,
  catalogue: Catalogue,
  caller: Caller,
  submission: Submission,
  { levels }: Pick<Admitted | Refusal, 'levels'>,
): Record<string, string> {
  gateway.levels.remember(caller, catalogue, levels);
  return rateHeaders(levels, submission.vendorPrefix);
}

/** Counts the tokens of a prompt. Takes one of the requests a minute; costs nothing. */
export function countTokens(gateway: Gateway, submission: Submission): Promise<Reply> {
  return answerCaller(gateway, submission, async (caller, catalogue) => {
    using _seat = gateway.seats.take(caller.account.id);
    const request = parseMessageRequest(await submission.readBody(catalogue.settings.bodyBytesMax, caller.account.id));
    const { storedObject } = readFeatures(request, submission.betas);
    const sold = resolveModel(catalogue, scopeOf(caller), request.model);
    const offer = requireOwn(catalogue, sold, caller, storedObject);
    const { name: group, limits } = offer.group;
    const { account, key } = caller;
    const admission = await gateway.ledger.admit({ kind: 'take', account: account.id, key: key.id, group, limits });
    if (isClaimRefusal(admission)) throw claimError(admission);
    gateway.levels.remember(caller, catalogue, admission.levels);
    const context = { nowMs: gateway.clock.nowMs(), amount: 0, isLeast: false, headers: {}, maxTokensThatFit: null };
    if (!admission.ok) throw refusalError(admission, context);
    return countPrompt(gateway, { submission, caller, request, offer });
  });
}

/** The models that the caller may use: the page of them that the query asks for. */
export function listModels(gateway: Gateway, submission: Submission): Promise<Reply> {
  return answerCaller(gateway, submission, (caller, catalogue) =>
    describeModels(catalogue, scopeOf(caller), submission.query),
  );
}

/** One model by its name or an alias. Throws model_not_found with status 404. */
export function getModel(gateway: Gateway, submission: Submission, id: string): Promise<Reply> {
  return answerCaller(gateway, submission, (caller, catalogue) => describeOneModel(catalogue, scopeOf(caller), id));
}

/** What the caller's key may use, what is left of it, and when it comes back. */
export function getKey(gateway: Gateway, submission: Submission): Promise<Reply> {
  return answerCaller(gateway, submission, (caller, catalogue) => describeKey(gateway, caller, catalogue));
}

/** What one message of the caller's key cost; status 202 while it is in progress. Throws object_not_found. */
export function getUsage(gateway: Gateway, submission: Submission, requestId: string): Promise<Reply> {
  return answerCaller(gateway, submission, (caller) => describeUsage(gateway, caller, requestId));
}

/** A JSON of status 200, or of another. */
type Answer = string | Pick<Reply, 'status' | 'body'>;

/** What is no message: the JSON that `answer` gives to a known caller, or its error, with the rate headers last known. */
async function answerCaller(
  gateway: Gateway,
  submission: Submission,
  answer: (caller: Caller, catalogue: Catalogue) => Answer | Promise<Answer>,
): Promise<Reply> {
  const catalogue = gateway.catalogue();
  const caller = await identify(gateway, submission);
  submission.caller = caller;
  try {
    const answered = await answer(caller, catalogue);
    const { status, body } = typeof answered === 'string' ? { status: 200, body: answered } : answered;
    return { status, headers: headersLastKnown(gateway, catalogue, caller, submission), body };
  } catch (thrown) {
    throw withHeaders(asTurnpikeError(thrown), headersLastKnown(gateway, catalogue, caller, submission));
  }
}

function identify(gateway: Gateway, submission: Submission): Caller | Promise<Caller> {
  const { origin, address, secret } = submission;
  return authenticate(secret, { origin, address, nowMs: gateway.clock.nowMs() }, gateway.gatehouse);
}

/** Only messages have to declare it: what a page merely looks up costs nothing. */
function requireBrowserHeader({ settings }: Catalogue, submission: Submission): void {
  const { origin, browserDeclared, vendorPrefix } = submission;
  if (!settings.requireBrowserHeader || origin === null || browserDeclared) return;
  throw new TurnpikeError(
    'browser_access_not_declared',
    `CORS requests must set '${vendorPrefix}-dangerous-direct-browser-access' header`,
  );
}

/**
 * An object that is stored at a provider may be another's, unless the account has a credential of its own there: then
 * such routes are offered alone. Throws feature_unavailable. `path` is the field that names the object; null: none does.
 */
function requireOwn(catalogue: Catalogue, offer: Offer, caller: Caller, path: string | null): Offer {
  if (path === null) return offer;
  const own = withOwnCredentials(catalogue, offer, caller.account.id);
  if (own !== null) return own;
  throw new TurnpikeError('feature_unavailable', `${path}: objects stored at a provider cannot be used here`);
}

function scopeOf(caller: Caller): CallerScope {
  return { account: caller.account.id, keyModels: caller.key.models, groups: groupsOf(caller) };
}

/** What is sold, and what its plan is made of beside the request. */
function resolveOffer(
  gateway: Gateway,
  catalogue: Catalogue,
  caller: Caller,
  request: MessageRequest,
  betas: string | null,
): { offer: Offer; terms: PlanTerms } {
  const sold = resolveModel(catalogue, scopeOf(caller), request.model);
  const features = readFeatures(request, betas);
  const offer = requireOwn(catalogue, sold, caller, features.storedObject);
  checkFeatures(offer, features);
  const providerOf = (name: string) => {
    const kind = catalogue.providers.get(name)?.kind ?? '';
    const provider = gateway.providers.get(kind);
    if (provider === undefined)
      throw new TurnpikeError('internal', 'A provider of this model is of a kind that this version does not know.');
    return provider;
  };
  const { settings } = catalogue;
  return { offer, terms: { features, settings, estimates: gateway.estimates, providerOf } };
}

/** Begins to open a route, and sees to it that a caller who leaves is noticed from now on. */
function openMessage(gateway: Gateway, message: OpenMessage): Promise<Opened> {
  const { signal } = message.submission;
  if (signal.aborted) {
    message.callerHasLeft = true;
    throw new TurnpikeError('internal', 'The caller left before the message was sent on.');
  }
  const opening = openRoute(gateway, message);
  opening.catch(() => {}); // whoever waits for it hears of it; a stream whose reader never came has nobody
  signal.addEventListener('abort', () => leaveMessage(message, opening));
  return opening;
}

/** The provider's own JSON, once it is billed. */
async function replyWithMessage(
  message: OpenMessage,
  opening: Promise<Opened>,
  headers: Record<string, string>,
): Promise<Reply> {
  const opened = await opening;
  if (opened.form === 'stream')
    throw new TurnpikeError('upstream_failed', 'The provider of this model answered in a form that was not asked for.');
  const settlement = await message.complete();
  if (!settlement.ok)
    throw new TurnpikeError('internal', 'This message was ended by another node, which took it for abandoned.');
  return { status: 200, headers, body: opened.text };
}

/** The stream: its 200 waits for the upstream's first event, or for so long as a caller can be left without a byte. */
async function replyWithStream(
  { waits = bounds }: Gateway,
  message: OpenMessage,
  opening: Promise<Opened>,
  headers: Record<string, string>,
): Promise<Reply> {
  message.submission.expect('stream');
  let timer: ReturnType<typeof setTimeout> | undefined;
  const waited = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, waits.firstEventWaitMs);
  });
  try {
    await Promise.race([opening, waited]);
  } finally {
    clearTimeout(timer);
  }
  return { status: 200, headers, body: relay(message, opening, waits.pingIntervalMs), requestKept: opening };
}

/** The rate headers of an answer that asked no meter. */
function headersLastKnown(
  gateway: Gateway,
  catalogue: Catalogue,
  caller: Caller,
  submission: Submission,
): Record<string, string> {
  return rateHeaders(gateway.levels.find(caller, catalogue, gateway.clock.nowMs()), submission.vendorPrefix);
}

/** The error with these headers as well; itself, when there are none that it does not bear. */
function withHeaders(error: TurnpikeError, headers: Record<string, string>): TurnpikeError {
  if (error.details.headers === headers || Object.keys(headers).length === 0) return error;
  return new TurnpikeError(error.code, error.message, {
    ...error.details,
    headers: { ...headers, ...error.details.headers },
  });
}
