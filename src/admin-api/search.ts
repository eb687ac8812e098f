// Search over accounts, keys, people and the catalog, for the command palette of the console: each as far as the principal may
// list them.

import { z } from '@hono/zod-openapi';
import { parseId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { textsOfModel, visibleCatalog } from './catalog.ts';
import { accountOf, everyone, makerOf, maySeeAccount, maySeeKey, seesProviderCost } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { accountShown, idField } from './fields.ts';
import { hasText, requesterOf } from './pages.ts';
import { type AdminRoute, type Call, get } from './route.ts';

const TEXT_WORDS = `must have at most ${bounds.nameSearchCharactersMax} characters`;

export const searchSchema = z
  .object({
    accounts: z.array(z.object({ id: idField('acct'), name: z.string() })),
    keys: z.array(z.object({ id: idField('key'), account: accountShown, name: z.string(), prefix: z.string() })),
    people: z.array(
      z.object({
        id: idField('person'),
        account: accountShown.nullable(),
        name: z.string(),
        email: z.string().nullable(),
      }),
    ),
    models: z.array(z.object({ name: z.string(), display_name: z.string() })),
    groups: z.array(z.object({ name: z.string() })),
    providers: z.array(z.object({ name: z.string() })),
  })
  .openapi('SearchResults');

const encodeFound = encoderOf(searchSchema);

export const searchRoutes: AdminRoute[] = [
  get('/search', 'search-show', 'Search accounts, keys, people and the catalog', everyone, {
    query: {
      text: z
        .string({ error: TEXT_WORDS })
        .trim()
        .max(bounds.nameSearchCharactersMax, TEXT_WORDS)
        .default('')
        .describe(
          'A part of a name, an email, an alias of a model or the shown part of a key, in upper or lower case; or a whole id. Without it nothing is found.',
        ),
    },
    answer: [
      searchSchema,
      `At most ${bounds.nameSearchFoundMax} of each: accounts, keys and people newest first, the others by name`,
    ],
    async handle(call) {
      const { principal, names, query } = call;
      if (query.text === '') return { accounts: [], keys: [], people: [], models: [], groups: [], providers: [] };
      const search = {
        text: query.text,
        accountId: accountOf(principal, null),
        madeBy: makerOf(principal),
        limit: bounds.nameSearchFoundMax,
      };
      const requester = requesterOf(call);
      const [byId, accounts, keys, people, catalog] = await Promise.all([
        findById(call, query.text),
        principal.accountId === null ? names.searchAccountNames(search, requester) : [],
        names.searchKeyNames(search, requester),
        principal.role === 'member' ? [] : names.searchPersonNames(search, requester),
        findInCatalog(call, query.text),
      ]);
      return encodeFound({
        accounts: [...byId.accounts, ...accounts],
        keys: [...byId.keys, ...keys],
        people,
        ...catalog,
      });
    },
  }),
];

async function findInCatalog(call: Call, text: string) {
  const { groups, models } = await visibleCatalog(call);
  const found = <Row extends { name: string }>(rows: Iterable<Row>, texts: (row: Row) => readonly string[]) =>
    [...rows]
      .filter((row) => hasText(texts(row), text))
      .sort((one, other) => (one.name < other.name ? -1 : 1))
      .slice(0, bounds.nameSearchFoundMax);
  const nameOf = ({ name }: { name: string }) => [name];
  const providers = seesProviderCost(call.principal) ? call.catalog.current().providers.values() : [];
  return { models: found(models, textsOfModel), groups: found(groups, nameOf), providers: found(providers, nameOf) };
}

/** The account or key with this id, if the principal may see it. */
async function findById(call: Call, text: string) {
  const { accounts, principal } = call;
  const [accountId, keyId] = [parseId('acct', text), parseId('key', text)];
  const account = accountId === null ? null : await accounts.getAccount(accountId);
  const key = keyId === null ? null : await accounts.getKey(keyId);
  return {
    accounts:
      account !== null && principal.role !== 'member' && (await maySeeAccount(call, account.id)) ? [account] : [],
    keys: key !== null && (await maySeeKey(call, key)) ? [key] : [],
  };
}
