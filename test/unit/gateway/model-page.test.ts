// Paging of the model list: OpenAI clients request no further pages, a page has a maximum size, and a short one costs little.

import { expect, test } from 'bun:test';
import { CatalogHolder } from '../../../src/catalog/catalog.ts';
import { bounds } from '../../../src/config/config.ts';
import { cutPage, describeModels } from '../../../src/gateway/models.ts';
import { providerKinds } from '../../../src/providers/providers.ts';
import { apply, unseal } from '../catalog/support.ts';

const modelsOf = (count: number) => Array.from({ length: count }, (_, index) => ({ id: `m-${index}` }));

test('without a limit all models are on the first page, up to the maximum page size', () => {
  const most = modelsOf(bounds.pageItemsMax);
  expect(cutPage(most, '')).toEqual({ models: most, hasMore: false });
  expect(cutPage(modelsOf(bounds.pageItemsMax + 1), '')).toEqual({ models: most, hasMore: true });
  expect(cutPage(modelsOf(bounds.pageItemsMax + 2), 'after_id=m-0').models).toHaveLength(bounds.pageItemsMax);
});

test('only the models of the page are described', () => {
  const price = { input: '1', output: '2' };
  const names = Array.from({ length: 50 }, (_, at) => `gpt-5-${10 + at}`);
  const documents = apply([], {
    providers: { openai: { kind: 'openai', base_url: 'https://api.openai.com/v1', api_key: 'sk-1' } },
    models: Object.fromEntries(names.map((name) => [name, { price, routes: [{ provider: 'openai' }] }])),
    groups: { all: { models: ['*'] } },
  });
  const kind = providerKinds.get('openai');
  if (kind?.abilities === undefined) throw new Error('no abilities');
  const { abilities } = kind;
  const described: string[] = [];
  const counted: typeof kind = {
    ...kind,
    abilities(model, baseUrl) {
      described.push(model);
      return abilities(model, baseUrl);
    },
  };
  const shown = {
    catalog: new CatalogHolder(documents, unseal).current,
    scope: { account: 1, keyModels: null, groups: ['all'] },
    providers: new Map([['openai', counted]]),
  };
  const page = JSON.parse(describeModels(shown, 'limit=3&after_id=gpt-5-19&lifecycle=active')) as { data: object[] };
  expect(page).toMatchObject({ has_more: true, first_id: 'gpt-5-20', last_id: 'gpt-5-22' });
  expect(page.data).toHaveLength(3);
  expect(described).toEqual(['gpt-5-20', 'gpt-5-21', 'gpt-5-22']);
});
