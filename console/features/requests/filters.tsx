// The filters of the list of requests, one of which opens a request by its id.

import { readAmount } from '../../amounts.ts';
import type { Filters } from '../../filters.ts';
import { endpointLabels, errorOptions, optionsOf, outcomeLabels } from '../../labels.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { FilterChips, type ListFilter, useAccountFilter } from '../../parts/filter-chips.tsx';
import { foundKeys, foundModels, foundPeople, foundProviders } from '../../parts/found.ts';
import { pathOf, useGoTo } from '../../parts/link.tsx';
import { RangeFields } from '../../parts/range.tsx';
import { costOf, isRequestId, tagOf } from './query.ts';

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
  return [
    ...useAccountFilter(),
    { kind: 'found', name: 'key', label: 'API key', found: foundKeys(account) },
    modelFilter,
    { kind: 'options', name: 'outcome', label: 'Status', options: outcomes },
    {
      kind: 'options',
      name: 'status',
      label: 'HTTP status',
      options: STATUSES.map(optionOf),
      offer: (text) => (/^[1-5](xx|\d\d)$/i.test(text) ? optionOf(text.toLowerCase()) : null),
    },
    { kind: 'options', name: 'error', label: 'Error', options: errorOptions },
    ...(isInstallation ? [providerFilter] : []),
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
    ...(role === 'member' ? [] : [personFilter(account)]),
    { kind: 'options', name: 'endpoint', label: 'Endpoint', options: endpointOptions },
    { kind: 'options', name: 'stream', label: 'Streaming', options: streamOptions },
    useRequestFilter(),
  ];
}

function personFilter(account: string): ListFilter {
  return { kind: 'found', name: 'person', label: 'User', found: foundPeople(account) };
}

function optionOf(value: string) {
  return { value, label: value };
}

/** Deleted providers are not found, but their requests are. */
const providerFilter: ListFilter = {
  kind: 'found',
  name: 'provider',
  label: 'Provider',
  found: foundProviders,
  offer: optionOf,
};

const PART = 'part:';
const allModels = foundModels(null);

/** A model that is found, or a part of a name, because deleted models are not found. */
const modelFilter: ListFilter = {
  kind: 'found',
  name: 'model',
  label: 'Model',
  found: {
    ...allModels,
    useNameOf: (value) => (value?.startsWith(PART) ? `contains “${value.slice(PART.length)}”` : value),
  },
  offer: (text) => ({ value: PART + text, label: `Contains “${text}”` }),
  read: ({ model, model_search: part }) => model ?? (part === undefined ? '' : PART + part),
  write: (value) =>
    value.startsWith(PART)
      ? { model: null, model_search: value.slice(PART.length) }
      : { model: value, model_search: null },
};

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
