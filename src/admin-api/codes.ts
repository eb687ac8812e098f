// Redemption codes. Operators create batches, whose codes are shown once, and disable them. Holders redeem a code for
// their account: it is credited in the transaction that marks the code, so that a code is credited once.

import { z } from '@hono/zod-openapi';
import { formatId, newNumber } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import type { NewEvent } from '../events/events.ts';
import type { EventRow } from '../ledger/ledger.ts';
import {
  type CodeBatch,
  CodeGuesses,
  codeName,
  codeReference,
  codesOf,
  hashCode,
  makeCodeSeed,
  readCode,
  type StoredCode,
} from '../payments/payments.ts';
import { refuseUnusedBalance } from './account-tree.ts';
import { findAccount } from './accounts.ts';
import { findObject, invalidMember } from './admin-app.ts';
import { changeNote, createOnce, type Made, type Remember, recordAudit } from './changes.ts';
import { credited } from './credits.ts';
import { holdersWhoChange, installation, operator, sharesBoundsOf } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import {
  actorShown,
  amountField,
  amountShown,
  countShown,
  idField,
  isoTime,
  nameField,
  noteField,
  statusAt,
  timeField,
  timeShown,
} from './fields.ts';
import { after, answerPage } from './pages.ts';
import { type AdminRoute, type Call, type CallWith, get, list, patch, post } from './route.ts';

const kindField = z.enum(['payment', 'promotion'], { error: 'must be payment or promotion' });
const codeShown = z.string().openapi({ examples: ['7K3QD-0V8RE-2M5XA-9C4TH'] });
const codeNameShown = z.string().openapi({ pattern: '^batch_[0-9A-Za-z]{9}:[1-9]\\d*$' });

export const codeBatchSchema = z
  .object({
    id: idField('batch'),
    name: z.string(),
    kind: kindField,
    amount: amountShown.describe('The worth of each code, in USD.'),
    count: countShown.describe('Number of codes.'),
    redeemed: countShown,
    expires_at: timeShown.nullable(),
    once_per_account: z.boolean(),
    status: z.enum(['enabled', 'expired', 'disabled']),
    note: z.string().nullable(),
    made_by: actorShown,
    created_at: timeShown,
  })
  .openapi('CodeBatch');

export const createdCodeBatchSchema = codeBatchSchema.extend({
  codes: z.array(codeShown).describe('In order: number 1, 2 and so on.'),
});

export const codeSchema = z
  .object({
    id: codeNameShown,
    account: idField('acct').nullable().describe('null: not redeemed.'),
    redeemed_at: timeShown.nullable(),
    redeemed_by: actorShown.nullable(),
  })
  .openapi('Code');

export const redemptionSchema = z
  .object({
    account: idField('acct'),
    code: codeNameShown.describe('Names the code. Its entry in the journal has the reference `code:` and this name.'),
    amount: amountShown,
    balance: amountShown,
    repeated: z.boolean().describe('The account had redeemed this code before: nothing was added.'),
  })
  .openapi('Redemption');

const createBody = z.strictObject({
  name: nameField,
  kind: kindField.default('promotion').describe('The kind of the credits: payment for codes that are sold.'),
  amount: amountField(0)
    .refine((amount) => amount !== 0, 'must not be zero')
    .describe('The worth of each code, in USD.'),
  count: z
    .int({ error: 'must be a whole number' })
    .min(1, 'must be at least 1')
    .max(bounds.codesPerBatchMax, `must be at most ${bounds.codesPerBatchMax}`)
    .describe('The number of codes.'),
  expires_at: timeField.nullable().optional().describe('When the codes expire.'),
  once_per_account: z
    .boolean({ error: 'must be true or false' })
    .default(false)
    .describe('An account can redeem only one of the codes.'),
  note: noteField.nullable().optional().describe('The note of each credit, which the holder sees.'),
});
const params = z.object({ id: idField('batch') });
const redeemBody = z.strictObject({
  code: z
    .string({ error: 'must be a code' })
    .max(bounds.codeTypedCharactersMax, `must have at most ${bounds.codeTypedCharactersMax} characters`)
    .openapi({ examples: ['7K3QD-0V8RE-2M5XA-9C4TH'] }),
});

export const codeBatchRoutes: AdminRoute[] = [
  post('/code-batches', 'code-batch-create', 'Create a batch of redemption codes', operator, {
    body: createBody,
    isCreation: true,
    answer: [createdCodeBatchSchema, 'The batch with its codes, which are shown only once'],
    links: ['code-batch-show', 'code-batch-change', 'code-list'],
    async handle(call) {
      const { object, secret } = await createOnce(call, (remember) => storeBatch(call, remember));
      const batch = await findBatch(call, object);
      if (secret === null) throw new Error('a batch of codes was created without its seed');
      return { ...batchJson(call, batch), codes: codesOf(secret, batch.count) };
    },
  }),
  list('/code-batches', 'code-batch-list', 'List batches of redemption codes', installation, {
    page: [codeBatchSchema, 'Batches, newest first'],
    async handle(call) {
      const rows = await call.codes.listCodeBatches({ before: after(call), limit: call.query.limit });
      return answerPage(
        call,
        rows,
        (batch) => batchJson(call, batch),
        ({ id }) => id,
      );
    },
  }),
  get('/code-batches/{id}', 'code-batch-show', 'Retrieve a batch of redemption codes', installation, {
    params,
    answer: [codeBatchSchema, 'The batch, without its codes'],
    handle: async (call) => batchJson(call, await findBatch(call, call.params.id)),
  }),
  patch('/code-batches/{id}', 'code-batch-change', 'Disable or enable a batch of redemption codes', operator, {
    params,
    body: z.strictObject({ status: z.enum(['enabled', 'disabled'], { error: 'must be enabled or disabled' }) }),
    answer: [codeBatchSchema, 'The updated batch'],
    async handle(call) {
      const { id } = call.params;
      const changed = await call.changeInTurn(async () => {
        const before = await findBatch(call, id);
        const after: CodeBatch = { ...before, status: call.body.status };
        const note = changeNote('code-batch.update', id, null, { status: before.status }, { status: after.status });
        await call.codes.setCodeBatchStatus(before.id, after.status, recordAudit(call, [note]));
        return findBatch(call, id);
      });
      return batchJson(call, changed);
    },
  }),
  list('/code-batches/{id}/codes', 'code-list', 'List the codes of a batch and who redeemed them', installation, {
    params,
    page: [codeSchema, 'Codes, in order'],
    async handle(call) {
      const { id: batch } = await findBatch(call, call.params.id);
      const rows = await call.codes.listCodes({ batch, after: after(call), limit: call.query.limit });
      return answerPage(call, rows, codeJson, ({ number }) => number);
    },
  }),
];

/** Contains the counts of wrong codes: one for a process. */
export function redemptionRoutes(): AdminRoute[] {
  const guesses = new CodeGuesses();
  return [
    post('/accounts/{id}/redemptions', 'redemption-create', 'Redeem a code', holdersWhoChange, {
      params: z.object({ id: idField('acct') }),
      body: redeemBody,
      conflict:
        'The code was redeemed or has expired, the account pays from the one above, or it has redeemed another code of its batch',
      answer: [redemptionSchema, 'The code was credited to the account, now or before'],
      async handle(call) {
        const { account } = await findAccount(call, call.params.id);
        refuseUnusedBalance(account);
        const { code } = call.body;
        await findCode(call, guesses, account.id, code); // a wrong code must not make others wait
        return call.changeInTurn(async () => redeem(call, account.id, await findCode(call, guesses, account.id, code)));
      },
    }),
  ];
}

const encodeBatch = encoderOf(codeBatchSchema);

function batchJson({ clock }: Call, batch: CodeBatch): z.infer<typeof codeBatchSchema> {
  const status = statusAt(batch, clock.nowMs());
  return encodeBatch({ ...batch, oncePerAccount: batch.isOncePerAccount, status });
}

const encodeCode = encoderOf(codeSchema);

function codeJson(code: StoredCode): z.infer<typeof codeSchema> {
  const { account = null, atMs: redeemedAtMs = null, by: redeemedBy = null } = code.redemption ?? {};
  return encodeCode({ id: codeName(code), account, redeemedAtMs, redeemedBy });
}

/** Throws object_not_found. */
function findBatch({ codes }: Call, id: string): Promise<CodeBatch> {
  return findObject('batch', 'batch of codes', id, codes.getCodeBatch);
}

async function storeBatch(call: CallWith<typeof createBody>, remember: Remember): Promise<Made> {
  const { once_per_account: isOncePerAccount, expires_at: expiresAtMs = null, note = null, ...rest } = call.body;
  const nowMs = call.clock.nowMs();
  if (expiresAtMs !== null && expiresAtMs <= nowMs) throw invalidMember('expires_at', 'must be in the future');
  const batch: CodeBatch = {
    ...rest,
    id: newNumber(),
    redeemed: 0,
    expiresAtMs,
    isOncePerAccount,
    note,
    status: 'enabled',
    madeBy: call.principal.id,
    createdAtMs: nowMs,
  };
  const seed = makeCodeSeed();
  const object = formatId('batch', batch.id);
  const { id: _, made_by, created_at, redeemed, ...shown } = batchJson(call, batch);
  const auditContext = recordAudit(
    call,
    [changeNote('code-batch.create', object, null, null, shown)],
    remember(object, seed),
  );
  await call.codes.createCodeBatch(batch, codesOf(seed, batch.count).map(hashCode), auditContext);
  return { object, secret: seed };
}

type FoundCode = NonNullable<Awaited<ReturnType<Call['codes']['findCode']>>>;

/** Throws code_invalid, and too_many_failures after too many wrong codes. Operators, who can create codes, are not counted. */
async function findCode(call: Call, guesses: CodeGuesses, account: number, typed: string): Promise<FoundCode> {
  const { codes, clock, context, principal } = call;
  const guesser =
    principal.accountId === null
      ? null
      : { account: sharesBoundsOf(principal) ?? account, address: context.env.address };
  if (guesser !== null) guesses.refuse(guesser, clock.nowMs());
  const code = readCode(typed);
  const found = code === null ? null : await codes.findCode(hashCode(code));
  if (found !== null) return found;
  if (guesser !== null) guesses.count(guesser, clock.nowMs());
  throw new TurnpikeError('code_invalid', 'There is no such code. Check it for typing errors.');
}

/**
 * Credits the code to the account. Only somebody who has the code gets here, so the errors say why it is not redeemed: code_used,
 * code_expired, code_once_per_account. Throws Outpaced if another request redeemed it meanwhile.
 */
async function redeem(
  call: Call,
  account: number,
  { batch, code }: FoundCode,
): Promise<z.infer<typeof redemptionSchema>> {
  const { principal, clock, codes } = call;
  const atMs = clock.nowMs();
  const shown = { account: formatId('acct', account), code: codeName(code), amount: formatUsd(batch.amount) };
  if (code.redemption?.account === account) {
    const meters = await call.ledger.accountMeters(account, atMs);
    return { ...shown, balance: formatUsd(meters?.balance ?? 0), repeated: true };
  }
  if (code.redemption !== null) throw new TurnpikeError('code_used', 'This code was redeemed before.');
  await refuseUnusable(call, account, batch);
  const note = changeNote('code.redeem', shown.code, account, null, { amount: shown.amount, kind: batch.kind });
  const credit = { source: batch.kind, reference: codeReference(code), note: batch.note };
  const [answer] = await call.ledger.submit({
    operations: [{ kind: 'credit', account, amount: batch.amount, ...credit }],
    coCommitted: [
      ...codes.redemptionRows(batch, code, { account, by: principal.id, atMs }),
      { table: 'events', event: redeemedEvent(account, batch, shown.code, atMs) } satisfies EventRow,
      // The ledger and the code's row decide: other changes do not matter.
      ...call.auditRows({ ...recordAudit(call, [note]), since: null }),
    ],
  });
  const { balance, repeated } = credited(answer, account, batch.kind);
  return { ...shown, balance: formatUsd(balance), repeated };
}

function redeemedEvent(account: number, { id, amount }: CodeBatch, code: string, atMs: number): NewEvent {
  const data = { batch: formatId('batch', id), amount: formatUsd(amount) };
  return { atMs, account, type: 'code.redeemed', data, dedupe: code };
}

async function refuseUnusable({ clock, codes }: Call, account: number, batch: CodeBatch): Promise<void> {
  const { expiresAtMs, status, isOncePerAccount, id } = batch;
  if (expiresAtMs !== null && expiresAtMs <= clock.nowMs())
    throw new TurnpikeError('code_expired', `This code expired at ${isoTime(expiresAtMs)}.`);
  if (status === 'disabled') throw new TurnpikeError('code_expired', 'This code is no longer valid.');
  if (isOncePerAccount && (await codes.hasRedeemed(id, account)))
    throw new TurnpikeError(
      'code_once_per_account',
      'This account has redeemed another code of the same batch, of which each account can redeem one.',
    );
}
