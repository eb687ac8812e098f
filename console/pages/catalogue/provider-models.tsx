// Chooses models of the price list to sell over a provider, at the list's prices. One that is sold already gets a
// further route. What will change is shown before it is saved.

import { Button, Checkbox, Group, NativeSelect, ScrollArea, Stack, Text } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { ListedModelShape, ModelShape } from '../../../src/admin-api/shapes.ts';
import type { Standing, Wanted } from '../../catalogue-changes.ts';
import { ApplyDialogue, useApply } from '../../parts/apply-dialogue.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { FailureNotice } from '../../parts/failure-notice.tsx';
import { Waiting } from '../../parts/waiting.tsx';
import { useAsk, usePages } from '../../queries.ts';
import { words } from '../../words.ts';

/** Whose models a kind serves; others serve anybody's. */
const familyOfKind: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  gemini: 'gemini',
  'openai-responses': 'openai',
};

export function ModelChoice({ provider, kind }: { provider: string; kind: string }) {
  const navigate = useNavigate();
  const prices = useAsk<{ data: ListedModelShape[] }>('/prices');
  const models = usePages<ModelShape>('/models', { limit: 1000 });
  const [family, setFamily] = useState(familyOfKind[kind] ?? '');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const apply = useApply({
    done: words.providerForm.sold,
    onDone: () => navigate({ to: '/models', search: { provider } as never }),
  });
  const listed = prices.data?.data ?? [];
  const families = [...new Set(listed.map((model) => model.family))];
  const shown = listed.filter((model) => model.family === family);
  const sold = new Map(models.rows.map((model) => [model.name, model]));
  if (prices.data === undefined) return <Waiting />;
  const sell = () => {
    const wanted = listed.filter(({ name }) => chosen.has(name));
    apply.preview((standing) => documentOfSelling(standing, provider, wanted));
  };
  return (
    <Stack mt="md" maw={720}>
      <Text size="sm" c="dimmed">
        {words.providerForm.modelsText}
      </Text>
      <Group align="flex-end">
        <NativeSelect
          label={words.providerForm.family}
          data={['', ...families]}
          value={family}
          onChange={({ currentTarget }) => setFamily(currentTarget.value)}
        />
        <Button variant="default" onClick={() => setChosen(new Set([...chosen, ...shown.map(({ name }) => name)]))}>
          {words.providerForm.all}
        </Button>
        <Button variant="default" onClick={() => setChosen(new Set())}>
          {words.providerForm.none}
        </Button>
      </Group>
      <ScrollArea.Autosize mah={460} type="auto">
        <Stack gap={6}>
          {shown.map((model) => (
            <ListedChoice
              key={model.name}
              model={model}
              isSold={sold.has(model.name)}
              isChosen={chosen.has(model.name)}
              onToggle={() => setChosen(toggled(chosen, model.name))}
            />
          ))}
        </Stack>
      </ScrollArea.Autosize>
      {shown.length === 0 && family !== '' && (
        <EmptyState icon="cube" title={words.comparison.unknown} text={words.providerForm.notListed} />
      )}
      <FailureNotice failure={apply.failure} />
      <Group>
        <Button onClick={sell} disabled={chosen.size === 0} loading={apply.isAsking}>
          {words.providerForm.chosen(chosen.size)}
        </Button>
        <Button variant="default" component={Link} to="/new-model" search={{ provider } as never}>
          {words.providerForm.addModel}
        </Button>
        <Button variant="subtle" component={Link} to={`/providers/${provider}`}>
          {words.providerForm.later}
        </Button>
      </Group>
      <ApplyDialogue apply={apply} />
    </Stack>
  );
}

interface ListedChoiceProps {
  model: ListedModelShape;
  isSold: boolean;
  isChosen: boolean;
  onToggle: () => void;
}

function ListedChoice({ model, isSold, isChosen, onToggle }: ListedChoiceProps) {
  const notes = [
    words.providerForm.inAndOut(model.price.input, model.price.output),
    ...(isSold ? [words.providerForm.already] : []),
    ...(model.retires_on === null ? [] : [words.providerForm.retires(model.retires_on)]),
  ];
  return <Checkbox checked={isChosen} onChange={onToggle} label={model.name} description={notes.join(' · ')} />;
}

function toggled(chosen: ReadonlySet<string>, name: string): Set<string> {
  const next = new Set(chosen);
  if (!next.delete(name)) next.add(name);
  return next;
}

/** New models as the list has them; those that stand with one more route, unless they have one to this provider. */
export function documentOfSelling(
  { models }: Pick<Standing, 'models'>,
  provider: string,
  wanted: readonly Pick<ListedModelShape, 'name' | 'aliases'>[],
): Wanted {
  const entries = wanted.map(({ name, aliases }): [string, object] => {
    const standing = models[name];
    if (standing === undefined) return [name, { aliases, catalogue: true, routes: [{ provider, cost: 'catalogue' }] }];
    const hasRoute = standing.routes.some((route) => route.provider === provider);
    const more = hasRoute ? [] : [{ provider, cost: 'catalogue' }];
    return [name, { ...standing, routes: [...standing.routes, ...more] }];
  });
  return { document: { models: Object.fromEntries(entries) } };
}
