// Which part of the list of models is shown: clients of OpenAI turn no pages, and a list has its bound.

import { expect, test } from 'bun:test';
import { bounds } from '../../src/config.ts';
import { cutPage } from '../../src/gateway/model-page.ts';

const modelsOf = (count: number) => Array.from({ length: count }, (_, index) => ({ id: `m-${index}` }));

test('without a limit all models are on the first page, as many as a page may have', () => {
  const most = modelsOf(bounds.pageItemsMax);
  expect(cutPage(most, '')).toEqual({ models: most, hasMore: false });
  expect(cutPage(modelsOf(bounds.pageItemsMax + 1), '')).toEqual({ models: most, hasMore: true });
  expect(cutPage(modelsOf(bounds.pageItemsMax + 2), 'after_id=m-0').models).toHaveLength(bounds.pageItemsMax);
});
