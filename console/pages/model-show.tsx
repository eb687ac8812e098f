// One model: its prices, for holders what they pay; its limits and names; its routes with what they cost and how they do;
// what of it was sold.

import { Alert, Button, Group, SimpleGrid, Stack } from '@mantine/core';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { GroupShape, ModelShape, ProviderShape } from '../../src/admin-api/shapes.ts';
import { formatCount } from '../figures.ts';
import { isOfInstallation, useMe } from '../me.tsx';
import { ApplyDialogue, useApply } from '../parts/apply-dialogue.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { Facts } from '../parts/facts.tsx';
import { Icon } from '../parts/icon.tsx';
import { PageFailure } from '../parts/page-failure.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Section } from '../parts/section.tsx';
import { UseOverTime } from '../parts/use-over-time.tsx';
import { Waiting } from '../parts/waiting.tsx';
import { When } from '../parts/when.tsx';
import { usePages } from '../queries.ts';
import { words } from '../words.ts';
import { ModelPrices } from './catalogue/model-prices.tsx';
import { ModelRoutes } from './catalogue/model-routes.tsx';

const CATALOGUE_ROWS = { limit: 1000 };
const HEALTH_EVERY_MS = 15_000;

export function ModelShow() {
  const { modelName: name } = useParams({ strict: false }) as { modelName: string };
  const me = useMe();
  const models = usePages<ModelShape>('/models', CATALOGUE_ROWS);
  const groups = usePages<GroupShape>('/groups', CATALOGUE_ROWS);
  const providers = usePages<ProviderShape>('/providers', CATALOGUE_ROWS, {
    everyMs: HEALTH_EVERY_MS,
    isWanted: isOfInstallation(me),
  });
  const model = models.rows.find((one) => one.name === name);
  if (models.isLoading) return <Waiting />;
  if (models.failure !== null) return <PageFailure failure={models.failure} onRetry={models.reload} />;
  if (model === undefined) return <Unknown name={name} />;
  const sellers = groups.rows.filter((group) => model.groups.includes(group.name));
  return (
    <>
      <PageHead
        title={model.name}
        {...(model.display_name !== model.name && { text: model.display_name })}
        actions={<Actions model={model} />}
      />
      <Stack>
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <ModelPrices model={model} groups={isOfInstallation(me) ? sellers : ownFirst(sellers, me.account?.groups)} />
          <Section title={words.models.facts}>
            <ModelFacts model={model} />
          </Section>
        </SimpleGrid>
        {isOfInstallation(me) && <ModelRoutes model={model} providers={providers.rows} />}
        <UseOverTime name={model.name} of={{ model: model.name }} />
      </Stack>
    </>
  );
}

/** The one whose price applies: the first of the account's that sells the model. */
function ownFirst(groups: readonly GroupShape[], own: readonly string[] = []): GroupShape[] {
  const first = own.find((name) => groups.some((group) => group.name === name));
  return groups.filter(({ name }) => name === first);
}

function Unknown({ name }: { name: string }) {
  return (
    <>
      <PageHead title={name} />
      <EmptyState icon="cube" title={words.failure.notFoundTitle} text={words.models.unknown(name)} />
    </>
  );
}

function Actions({ model }: { model: ModelShape }) {
  const { role } = useMe();
  const navigate = useNavigate();
  const apply = useApply({ done: words.models.removed, onDone: () => navigate({ to: '/models' }) });
  return (
    <>
      <CopyButton text={model.name} label={words.models.copyName} size="sm" />
      {role === 'operator' && (
        <>
          <Button
            component={Link}
            to="/models/$modelName/edit"
            params={{ modelName: model.name } as never}
            leftSection={<Icon name="pencil" />}
          >
            {words.models.edit}
          </Button>
          <Button
            variant="default"
            color="red"
            leftSection={<Icon name="trash" />}
            loading={apply.isAsking}
            onClick={() => apply.preview(() => ({ document: {}, remove: [{ kind: 'model', name: model.name }] }))}
          >
            {words.models.remove}
          </Button>
          {apply.failure !== null && (
            <Alert color="red" w="100%">
              {apply.failure.message}
            </Alert>
          )}
          <ApplyDialogue apply={apply} />
        </>
      )}
    </>
  );
}

function ModelFacts({ model }: { model: ModelShape }) {
  const tokens = (count: number | null) =>
    count === null ? words.parts.unlimited : words.models.tokens(formatCount(count));
  return (
    <Facts
      facts={[
        {
          name: words.models.fact.aliases,
          value: model.aliases.length === 0 ? words.parts.none : <Group gap={4}>{model.aliases.join(', ')}</Group>,
        },
        { name: words.models.fact.maxInput, value: tokens(model.max_input_tokens) },
        { name: words.models.fact.maxOutput, value: tokens(model.max_output_tokens) },
        { name: words.models.fact.defaultMax, value: tokens(model.default_max_tokens) },
        {
          name: words.models.fact.groups,
          value: model.groups.length === 0 ? words.models.notSold : model.groups.join(', '),
        },
        { name: words.models.fact.created, value: <When at={model.created_at} /> },
      ]}
    />
  );
}
