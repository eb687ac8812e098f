// The capabilities and token limits of a model, where the catalog knows them.

import { Badge, Group, Stack, Text } from '@mantine/core';
import type { ModelShape } from '../../../src/admin-api/shapes.ts';
import { formatCount } from '../../figures.ts';
import type { Column } from '../../parts/data-table.tsx';
import { Rate } from '../../parts/money.tsx';
import { Hint } from '../../parts/page.tsx';
import { partsOfUnits } from './price-parts.ts';

const capabilityLabels: Readonly<Record<ModelShape['capabilities'][number], string>> = {
  images: 'Images',
  documents: 'PDF documents',
  thinking: 'Thinking',
  structured_outputs: 'Structured outputs',
  citations: 'Citations',
  web_search: 'Web search',
  prompt_caching: 'Prompt caching',
  embeddings: 'Embeddings',
  rerank: 'Reranking',
  moderation: 'Moderation',
  image_generation: 'Image generation',
  speech: 'Speech',
  transcription: 'Transcription',
};

export function Capabilities({ model: { capabilities } }: { model: ModelShape }) {
  return (
    <Group gap={4}>
      {capabilities.map((name) => (
        <Badge key={name} color="gray" size="sm">
          {capabilityLabels[name]}
        </Badge>
      ))}
    </Group>
  );
}

const UNIT_PRICES_SHOWN_MAX = 2;

/** Empty where nothing is known. With prices of units other than tokens, as `shown`. */
export function capabilitiesColumn(shown: (rate: string, model: ModelShape) => string): Column<ModelShape> {
  return {
    name: 'capabilities',
    label: 'Context and capabilities',
    from: 'lg',
    show: (model) => {
      const units = partsOfUnits(model.price.units ?? {});
      return (
        <Stack gap={4}>
          {model.max_input_tokens !== null && (
            <Text size="sm" className="tabular">
              {model.max_output_tokens === null
                ? `${formatCount(model.max_input_tokens)} tokens`
                : `${formatCount(model.max_input_tokens)} in, ${formatCount(model.max_output_tokens)} out`}
            </Text>
          )}
          <Capabilities model={model} />
          {units.slice(0, UNIT_PRICES_SHOWN_MAX).map(({ label, rate }) => (
            <Hint key={label} size="xs">
              {label}: <Rate usd={shown(rate, model)} />
            </Hint>
          ))}
          {units.length > UNIT_PRICES_SHOWN_MAX && <Hint size="xs">{units.length - UNIT_PRICES_SHOWN_MAX} more</Hint>}
        </Stack>
      );
    },
  };
}
