// A model as it was written, to be changed.

import { useParams } from '@tanstack/react-router';
import type { CatalogueShape, ModelShape } from '../../src/admin-api/shapes.ts';
import { fieldsOfModel } from '../model-form.ts';
import { EmptyState } from '../parts/empty-state.tsx';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Waiting } from '../parts/waiting.tsx';
import { useAsk, usePages } from '../queries.ts';
import { words } from '../words.ts';
import { ModelForm } from './catalogue/model-form.tsx';

export function ModelEdit() {
  const { modelName: name } = useParams({ strict: false }) as { modelName: string };
  const catalogue = useAsk<CatalogueShape>('/catalogue');
  const models = usePages<ModelShape>('/models', { limit: 1000 });
  const written = catalogue.data?.document.models[name];
  const inForce = models.rows.find((model) => model.name === name);
  return (
    <>
      <PageHead title={words.modelForm.editTitle(name)} text={words.modelForm.text} />
      <FailureNotice failure={catalogue.error ?? models.failure} onRetry={() => void catalogue.refetch()} />
      {(catalogue.isLoading || models.isLoading) && <Waiting />}
      {catalogue.data !== undefined && written === undefined && (
        <EmptyState icon="cube" title={words.failure.notFoundTitle} text={words.models.unknown(name)} />
      )}
      {written !== undefined && !models.isLoading && (
        <ModelForm
          fields={fieldsOfModel(name, written, inForce === undefined ? null : writtenPrice(inForce))}
          isNew={false}
        />
      )}
    </>
  );
}

/** The price in force as it would be written: to begin with, where a price of the list is to be stated. */
function writtenPrice({ price }: ModelShape) {
  const { long_context, fast, web_search_per_thousand, ...rates } = price;
  return {
    ...rates,
    long_context: long_context ?? null,
    fast: fast ?? null,
    web_search_per_thousand: web_search_per_thousand ?? null,
  };
}
