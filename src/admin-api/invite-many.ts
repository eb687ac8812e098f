// Many invitations in one request, one after the other: each row is stored whole or not at all, and has its own result.

import { z } from '@hono/zod-openapi';
import type { AuditRecord } from '../audit/audit.ts';
import { parseId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { asTurnpikeError, TurnpikeError } from '../errors.ts';
import { createOnce, readKey } from './changes.ts';
import { holdersWhoChange } from './dependencies.ts';
import { encodePerson, invitationBody, personSchema, storePerson } from './people.ts';
import { type AdminRoute, type Call, type CallWith, post } from './route.ts';

/** Checked row by row, so that one wrong row does not refuse the others. */
const rowField = z.strictObject({
  email: z.string({ error: 'must be a string' }),
  role: z.string({ error: 'must be a string' }),
  account: z.string({ error: 'must be a string' }).optional(),
  name: z.string({ error: 'must be a string' }).optional(),
});
const body = z.strictObject({
  people: z
    .array(rowField, { error: 'must be a list' })
    .min(1, 'must not be empty')
    .max(bounds.invitationsAtOnce, `must have at most ${bounds.invitationsAtOnce} rows`)
    .describe('The members of each row are those of `POST /people`.'),
});

const resultSchema = z.object({
  email: z.string().describe('As given.'),
  person: personSchema.nullable().describe('null: this row was refused.'),
  link_secret: z.string().nullable().describe('As in the answer of `POST /people`; null also for a refused row.'),
  error: z
    .object({ code: z.string(), message: z.string() })
    .nullable()
    .describe('Why the row was refused; nothing of it was stored.'),
});
export const importedSchema = z.object({
  invited: z.int().min(0),
  refused: z.int().min(0),
  data: z.array(resultSchema).describe('A result for each row, in their order.'),
});
type Result = z.infer<typeof resultSchema>;
type RowOf = z.output<typeof rowField>;

export const inviteManyRoutes: AdminRoute[] = [
  post('/people/import', 'person-import', 'Invite several people', holdersWhoChange, {
    body,
    isCreation: true,
    answer: [importedSchema, 'The result of each row, with the secrets of links, which are shown only once'],
    async handle(call) {
      readKey(call.context.req.header('idempotency-key')); // a wrong one is refused whatever the rows are
      const { people } = call.body;
      const results: Result[] = [];
      const records: AuditRecord[] = [];
      const seen = new Set<string>();
      for (const [at, row] of people.entries()) {
        results.push(await inviteRow(call, row, at, seen));
        records.push(...(call.context.get('records') ?? []));
      }
      call.context.set('records', records);
      const refused = results.filter(({ error }) => error !== null).length;
      return { invited: results.length - refused, refused, data: results };
    },
  }),
];

/** `seen`: the people of the rows before. */
async function inviteRow(call: CallWith<typeof body>, row: RowOf, at: number, seen: Set<string>): Promise<Result> {
  const { email } = row;
  call.context.set('records', []);
  try {
    const parsed = invitationBody.safeParse(row);
    if (!parsed.success) throw new TurnpikeError('invalid_request', wordsOf(parsed.error));
    const once = `${parsed.data.email} ${parsed.data.account ?? ''}`;
    if (seen.has(once)) throw new TurnpikeError('conflict', 'email: an earlier row has this person');
    seen.add(once);
    const rowCall: CallWith<typeof invitationBody> = { ...call, body: parsed.data };
    const { object, secret } = await createOnce(
      call,
      (remember) => storePerson(rowCall, remember),
      at === 0 ? '' : `:${at}`,
    );
    const person = await call.people.getPerson(parseId('person', object) ?? 0);
    if (person === null) throw new Error('an invited person was not stored');
    return { email, person: encodePerson(person), link_secret: secret?.reveal() ?? null, error: null };
  } catch (failure) {
    if (failure instanceof TurnpikeError && failure.code === 'idempotency_mismatch') throw failure;
    return { email, person: null, link_secret: null, error: errorOf(call, failure) };
  }
}

function wordsOf({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
}

/** The rows after it are tried: one wrong row stops no other. */
function errorOf({ context, report }: Call, failure: unknown): Result['error'] {
  const { code, message } = asTurnpikeError(failure);
  if (!(failure instanceof TurnpikeError)) report(context.get('requestId'), failure);
  return { code, message };
}
