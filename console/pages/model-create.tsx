// A model that is not sold yet: from the price list where that knows it, else from nothing.

import { Card, Select, Text } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import type { ListedModelShape, ModelShape } from '../../src/admin-api/shapes.ts';
import { useFilters } from '../filters.ts';
import { blankModel, fieldsOfListed, type ModelFields } from '../model-form.ts';
import { PageHead } from '../parts/page-head.tsx';
import { useAsk, usePages } from '../queries.ts';
import { words } from '../words.ts';
import { ModelForm } from './catalogue/model-form.tsx';

export function ModelCreate() {
  const { values } = useFilters();
  return (
    <>
      <PageHead title={words.modelForm.createTitle} text={words.modelForm.text} />
      <ModelForm fields={blankModel(values['provider'])} isNew head={(form) => <FromList form={form} />} />
    </>
  );
}

/** Those of the list that are not sold yet, by family. */
function FromList({ form }: { form: UseFormReturnType<ModelFields> }) {
  const listed = useAsk<{ data: ListedModelShape[] }>('/prices').data?.data ?? [];
  const models = usePages<ModelShape>('/models', { limit: 1000 });
  const sold = new Set(models.rows.map(({ name }) => name));
  const free = listed.filter(({ name }) => !sold.has(name));
  const families = [...new Set(free.map(({ family }) => family))];
  const take = (name: string | null) => {
    const found = free.find((model) => model.name === name);
    if (found === undefined) return;
    form.setErrors({});
    form.setValues(fieldsOfListed(found, form.values.routes[0]?.provider ?? ''));
  };
  return (
    <Card withBorder>
      <Select
        label={words.modelForm.fromList}
        description={words.modelForm.fromListText}
        placeholder={words.modelForm.choose}
        searchable
        clearable
        maw={480}
        data={families.map((family) => ({
          group: family,
          items: free.filter((model) => model.family === family).map(({ name }) => name),
        }))}
        onChange={take}
        renderOption={({ option }) => <Text size="sm">{option.value}</Text>}
      />
    </Card>
  );
}
