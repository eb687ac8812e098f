// The filters of the list of requests, one of which opens a request by its id.

import { readAmount } from '../../amounts.ts';
import type { Filters } from '../../filters.ts';
import { endpointLabels, errorOptions, optionsOf, outcomeLabels } from '../../labels.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { foundKeys, foundPeople } from '../../parts/fields.tsx';
import { FilterChips, type ListFilter, useAccountFilter } from '../../parts/filter-chips.tsx';
import { pathOf, useGoTo } from '../../parts/link.tsx';
import { RangeFields } from '../../parts/range.tsx';
import { useGet } from '../../queries.ts';
import { costOf, isRequestId, tagOf } from './query.ts';

const LIST_MAX = 1_000;

/** Classes of statuses; any status can be typed. */
const STATUSES = ['2xx', '4xx', '5xx', '429', '499', '502', '504', '529'];
const streamOptions = optionsOf({ true: 'Yes', false: 'No' });
const endpointOptions = optionsOf(endpointLabels);
const outcomes = optionsOf({ ...outcomeLabels, not_completed: 'All errors' });

export function UsageFilters({ filters }: { filters: Filters }) {
  return (
    <FilterChips filters={useUsageFilters(filters.values)}>
      <RangeFields />
    </FilterChips>
  );
}

function useUsageFilters({ account = '' }: Readonly<Record<string, string>>): ListFilter[] {
  const me = useMe();
  const { role } = me;
  const isInstallation = seesInstallation(me);
  const models = useGet('/models', { query: { limit: LIST_MAX } }).data?.data ?? [];
  const providers = useGet('/providers', { query: { limit: LIST_MAX }, isEnabled: isInstallation }).data?.data ?? [];
  const names = models.map(({ name }) => name);
  return [
    ...useAccountFilter(),
    { kind: 'found', name: 'key', label: 'API key', found: foundKeys(account) },
    modelFilter(names),
    { kind: 'options', name: 'outcome', label: 'Status', options: outcomes },
    {
      kind: 'options',
      name: 'status',
      label: 'HTTP status',
      options: STATUSES.map(optionOf),
      offer: (text) => (/^[1-5](xx|\d\d)$/i.test(text) ? optionOf(text.toLowerCase()) : null),
    },
    { kind: 'options', name: 'error', label: 'Error', options: errorOptions },
    ...(isInstallation ? [providerFilter(providers.map(({ name }) => name))] : []),
    {
      kind: 'text',
      name: 'cost_min',
      label: 'Min cost (USD)',
      inputMode: 'decimal',
      placeholder: '0.01',
      faultOf: amountFault,
      write: (text) => ({ cost_min: readAmount(text).usd }),
    },
    { kind: 'text', name: 'tag', label: 'Tag', placeholder: 'team:search', faultOf: tagFault },
    { kind: 'text', name: 'session', label: 'Session' },
    { kind: 'text', name: 'agent', label: 'Agent' },
    ...(role === 'member' ? [] : [personFilter]),
    { kind: 'options', name: 'endpoint', label: 'Endpoint', options: endpointOptions },
    { kind: 'options', name: 'stream', label: 'Streaming', options: streamOptions },
    useRequestFilter(),
  ];
}

const personFilter: ListFilter = { kind: 'found', name: 'person', label: 'User', found: foundPeople };

function optionOf(value: string) {
  return { value, label: value };
}

function providerFilter(names: readonly string[]): ListFilter {
  return { kind: 'options', name: 'provider', label: 'Provider', options: names.map(optionOf), offer: optionOf };
}

/** A listed name finds that model only; any other text is a part of the name, because deleted models are not listed. */
function modelFilter(names: readonly string[]): ListFilter {
  return {
    kind: 'options',
    name: 'model',
    label: 'Model',
    options: names.map(optionOf),
    offer: (text) => ({ value: text, label: `Contains “${text}”` }),
    read: ({ model, model_search }) => model ?? model_search ?? '',
    write: (model) => (names.includes(model) ? { model, model_search: null } : { model: null, model_search: model }),
  };
}

const amountFault = (text: string) =>
  readAmount(text).fault ?? (costOf(text) === undefined ? 'Enter an amount below $1,000,000.' : null);
const tagFault = (text: string) =>
  tagOf(text) === undefined ? 'Enter a name and a value, such as team:search.' : null;
const requestFault = (text: string) =>
  isRequestId(text)
    ? null
    : 'A request ID is req_ followed by 25 letters or digits. Responses carry it in the request-id header.';

/** Opens the page of a request. */
function useRequestFilter(): ListFilter {
  const goTo = useGoTo();
  const onApply = (id: string) => void (id !== '' && goTo(pathOf.request(id)));
  return { kind: 'text', name: 'request', label: 'Request ID', placeholder: 'req_…', faultOf: requestFault, onApply };
}
