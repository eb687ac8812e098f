// Paging of the model list: OpenAI clients request no further pages, and a page has a maximum size.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { cutPage } from '../../../src/gateway/models.ts';

const modelsOf = (count: number) => Array.from({ length: count }, (_, index) => ({ id: `m-${index}` }));

test('without a limit all models are on the first page, up to the maximum page size', () => {
  const most = modelsOf(bounds.pageItemsMax);
  expect(cutPage(most, '')).toEqual({ models: most, hasMore: false });
  expect(cutPage(modelsOf(bounds.pageItemsMax + 1), '')).toEqual({ models: most, hasMore: true });
  expect(cutPage(modelsOf(bounds.pageItemsMax + 2), 'after_id=m-0').models).toHaveLength(bounds.pageItemsMax);
});
