// Apply: makes the catalog equal to a document, whole or not at all. The catalog plans the changes; here the plan is
// checked against the rest of the installation and stored.

import { setTimeout as sleep } from 'node:timers/promises';
import { z } from '@hono/zod-openapi';
import { planAt } from '../accounts/accounts.ts';
import type { AuditContext } from '../audit/audit.ts';
import { formatId, parseId } from '../base/ids.ts';
import { type Fault, findPrivateProviders, type Plan, planApply } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { updatePlans } from '../payments/payments.ts';
import { invalidRequest } from './admin-app.ts';
import { type ChangeNote, changeNote, recordAudit } from './changes.ts';
import { type AdminDependencies, type AdminMove, operator } from './dependencies.ts';
import { type AdminRoute, type Call, post } from './route.ts';

type Lookup = AdminDependencies['lookup'];

/** A name that is not resolved in time counts as one without addresses: it is unreachable now. */
export function rememberLookups(lookup: Lookup, msMax: number = bounds.nameLookupMsMax): Lookup {
  const asked = new Map<string, Promise<readonly string[]>>();
  return (hostname) => {
    const answer = asked.get(hostname) ?? Promise.race([lookup(hostname), sleep(msMax, [], { ref: false })]);
    asked.set(hostname, answer);
    return answer;
  };
}

const applyBody = z.strictObject({
  document: z
    .custom<object>(
      (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
      'must be an object: the content of an apply file, as JSON',
    )
    .openapi({ type: 'object' }),
  dry_run: z.boolean().default(false),
  prune: z.boolean().default(false),
  remove: z
    .array(
      z.strictObject({
        kind: z.enum(['provider', 'model', 'group', 'plan', 'agent_policy'], {
          error: 'must be provider, model, group, plan or agent_policy',
        }),
        name: z.string({ error: 'must be a name' }),
      }),
    )
    .max(bounds.pageItemsMax)
    .default([])
    .describe('Resources to delete by name, whatever their origin.'),
});
export const changeSchema = z
  .object({
    action: z.enum(['create', 'update', 'delete']),
    kind: z.enum(['provider', 'model', 'group', 'plan', 'agent_policy', 'settings']),
    name: z.string(),
    fields: z.array(z.string()).optional(),
  })
  .openapi('Change');

export const applyRoutes: AdminRoute[] = [
  post('/apply', 'catalogue-apply', 'Apply a catalog document', operator, {
    body: applyBody,
    answer: [
      z.object({ changes: z.array(changeSchema), dry_run: z.boolean() }),
      'The changes that were made, or with `dry_run` would be made',
    ],
    async handle(call) {
      const { dry_run: isDry, document, ...options } = call.body;
      const { changes } = await applyDocument(call, async () => document, { isDry, ...options });
      return { changes, dry_run: isDry };
    },
  }),
];

interface ApplyOptions extends Partial<Pick<z.output<typeof applyBody>, 'prune' | 'remove'>> {
  isDry: boolean;
}

/**
 * Applies a document in one transaction, or only plans it. `make` is called once before the change lock and again under it.
 * Throws invalid_request with all faults.
 */
export async function applyDocument(
  call: Call,
  make: () => Promise<object>,
  { isDry, prune = false, remove = [] }: ApplyOptions,
): Promise<{ changes: Plan['changes']; document: object }> {
  const remembered = { ...call, lookup: rememberLookups(call.lookup) };
  const plan = async (document: object) => await planChecked(remembered, { document, prune, remove });
  // Before the change lock: a slow name server would delay every other change, including revocations.
  await plan(await make());
  const applied = await call.changeInTurn(async () => {
    const document = await make();
    const planned = await plan(document);
    const { changes } = planned;
    using move = openAdminPort(call, planned);
    if (isDry || changes.length === 0) return { changes, document };
    const auditContext = recordAudit(call, await changeNotes(call, planned));
    await call.catalog.save(planned.put, planned.remove, goingByAccounts(auditContext, planned));
    move?.keep();
    return { changes, document };
  });
  const isOfHolders = applied.changes.some(({ kind, action }) => kind === 'plan' && action === 'update');
  if (!isDry && isOfHolders) void updateHolders(call);
  return applied;
}

/** In the background: what fails now is updated by the hourly upkeep. */
async function updateHolders(call: Call): Promise<void> {
  const { catalog, ledger, forgetAccount, report, context } = call;
  try {
    await updatePlans({ ledger, plans: () => catalog.current().plans, changed: forgetAccount });
  } catch (failure) {
    report(context.get('requestId'), failure);
  }
}

/** Removing a group or a plan relies on it being unused: then account changes outpace the plan too. */
function goingByAccounts(auditContext: AuditContext, { questions }: Plan): AuditContext {
  if (auditContext.since == null || questions.removedGroups.length + questions.removedPlans.length === 0)
    return auditContext;
  return { ...auditContext, since: { ...auditContext.since, account: 'any' } };
}

/**
 * Opens the port that the plan sets for the admin API, to see that it is available; null if it stays. Throws
 * invalid_request.
 */
function openAdminPort({ moveAdmin }: AdminDependencies, { put, remove }: Plan): AdminMove | null {
  const settings = put.find(({ kind }) => kind === 'settings')?.document;
  if (settings === undefined && !remove.some(({ kind }) => kind === 'settings')) return null;
  const wanted = settings?.['admin_listen'];
  try {
    return moveAdmin(typeof wanted === 'string' ? wanted : null);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw invalidRequest([{ path: ['settings', 'admin_listen'], message }]);
  }
}

/** One note per changed catalog object. */
async function changeNotes({ catalog }: AdminDependencies, plan: Plan): Promise<ChangeNote[]> {
  const breakerState = new Map((await catalog.documents()).map((one) => [`${one.kind} ${one.name}`, one.document]));
  const wanted = new Map(plan.put.map((one) => [`${one.kind} ${one.name}`, one.document]));
  return plan.changes.map(({ action, kind, name }) => {
    const object = `${kind} ${name}`;
    const before = breakerState.get(object) ?? null;
    return changeNote(`${kind}.${action}`, object, null, before, wanted.get(object) ?? null);
  });
}

/** The plan of a valid document. Throws invalid_request with all faults. */
async function planChecked(
  dependencies: AdminDependencies,
  { document, prune, remove }: Omit<z.output<typeof applyBody>, 'dry_run'>,
): Promise<Plan> {
  const { catalog, vault, clock, providerKinds } = dependencies;
  const plan = planApply(await catalog.documents(), document, {
    prune,
    remove,
    origin: 'file',
    kinds: providerKinds,
    nowMs: clock.nowMs(),
    seal: (text, context) => vault.seal(text, context),
    unseal: (sealed, context) => vault.open(sealed, context),
  });
  const faults = [
    ...plan.faults,
    ...(await findPrivateProviders(plan.questions.providers, dependencies.lookup)),
    ...(await findUsedGroups(dependencies, plan.questions.removedGroups)),
    ...(await findUsedPlans(dependencies, plan.questions.removedPlans)),
    ...(await findMissingAccounts(dependencies, plan.questions.accounts)),
    ...(await findUnreadableAuths(dependencies, plan.questions.auths)),
  ];
  if (faults.length > 0) throw invalidRequest(faults);
  return plan;
}

/**
 * A group in use by an account stays, otherwise its keys would lose every model. Read only if the plan removes
 * groups.
 */
async function findUsedGroups({ accounts }: AdminDependencies, removedGroups: readonly string[]): Promise<Fault[]> {
  const removed = new Set(removedGroups);
  const users = new Map<string, string>();
  let after: number | null = null;
  while (removed.size > users.size) {
    const page = await accounts.listAccounts({ after, limit: bounds.pageItemsMax });
    for (const account of page)
      for (const group of account.groups) if (removed.has(group) && !users.has(group)) users.set(group, account.name);
    if (page.length < bounds.pageItemsMax) break;
    after = page.at(-1)?.id ?? null;
  }
  return [...users].map(([group, account]) => ({
    path: ['groups'],
    message: `the group "${group}" would be deleted, but the account "${account}" is in it`,
  }));
}

/** A plan that an account has stays. Read only if the document removes plans. */
async function findUsedPlans({ ledger, clock }: AdminDependencies, removedPlans: readonly string[]): Promise<Fault[]> {
  const users = new Map<string, number>();
  for (let after: number | null = 0; after !== null && removedPlans.length > users.size; ) {
    const page: Awaited<ReturnType<typeof ledger.listPlans>> = await ledger.listPlans({
      after,
      limit: bounds.pageItemsMax,
    });
    for (const { account, plan } of page.plans)
      if (removedPlans.includes(plan.name) && planAt(plan, clock.nowMs()) !== null && !users.has(plan.name))
        users.set(plan.name, account);
    after = page.last;
  }
  return [...users].map(([plan, account]) => ({
    path: ['plans'],
    message: `the plan "${plan}" would be deleted, but the account ${formatId('acct', account)} has it`,
  }));
}

/** Each account is read once, however many credentials it has. */
async function findMissingAccounts(
  { accounts }: AdminDependencies,
  asked: Plan['questions']['accounts'],
): Promise<Fault[]> {
  const missing = new Set<string>();
  for (const id of new Set(asked.map((one) => one.id))) {
    const number = parseId('acct', id);
    if (number === null || (await accounts.getAccount(number)) === null) missing.add(id);
  }
  return asked.flatMap(({ id, path }) => (missing.has(id) ? [{ path, message: `there is no account "${id}"` }] : []));
}

/** Credentials that refer to what this host does not let be read. */
async function findUnreadableAuths(
  { findAuthFault }: AdminDependencies,
  asked: Plan['questions']['auths'],
): Promise<Fault[]> {
  const found = await Promise.all(asked.map(async ({ auth, path }) => ({ fault: await findAuthFault(auth), path })));
  return found.flatMap(({ fault, path }) =>
    fault === null ? [] : [{ path: [...path, fault.member], message: fault.message }],
  );
}
