// What the service finds by a part of its name, for pickers and filters: a picker never knows all of them.

import type { ListedPersonShape } from '../../src/admin-api/shapes.ts';
import { useActors } from '../names.ts';
import { useGet } from '../queries.ts';

const SHOWN_MAX = 50;
/** The pause in typing after which the service searches. */
export const SEARCH_MS = 200;

export interface FoundOption {
  value: string;
  label: string;
  note?: string;
}

export interface Found {
  options: FoundOption[];
  /** Whether they are those of the text, not of an earlier one. */
  isCurrent: boolean;
}

export interface FoundBy {
  /** The name of an object; null while it is unknown. */
  useNameOf: (id: string | null) => string | null;
  /** The objects whose names have the text, as the service finds them. */
  useFound: (text: string) => Found;
}

function foundIn<Row>(
  answer: { data: { data: Row[] } | undefined; isPlaceholderData: boolean },
  toOption: (row: Row) => FoundOption,
): Found {
  const { data, isPlaceholderData } = answer;
  return { options: (data?.data ?? []).map(toOption), isCurrent: data !== undefined && !isPlaceholderData };
}

export const foundAccounts: FoundBy = {
  useNameOf(id) {
    const { data } = useGet('/accounts/{id}', { id: id ?? undefined, isEnabled: id !== null });
    return id !== null && data?.id === id ? data.name : null;
  },
  useFound: (name) =>
    foundIn(useGet('/accounts', { query: { limit: SHOWN_MAX, name } }), (row) => ({ value: row.id, label: row.name })),
};

/** The keys of an account; empty: of all. */
export function foundKeys(account: string): FoundBy {
  return {
    useNameOf(id) {
      const { data } = useGet('/keys/{id}', { id: id ?? undefined, isEnabled: id !== null });
      return id !== null && data?.id === id ? data.name || data.prefix : null;
    },
    useFound: (search) =>
      foundIn(useGet('/keys', { query: { limit: SHOWN_MAX, account, search } }), ({ id, name, prefix }) => ({
        value: id,
        label: name || prefix,
        note: `${prefix}…`,
      })),
  };
}

/** The people of an account; empty: of all that the user sees. */
export function foundPeople(account: string): FoundBy {
  return {
    useNameOf: (id) => useActors([id])(id),
    useFound: (search) => foundIn(useGet('/people', { query: { limit: SHOWN_MAX, account, search } }), optionOfPerson),
  };
}

function optionOfPerson({ id, name, email }: ListedPersonShape): FoundOption {
  return { value: id, label: name || email || id, note: email ?? id };
}

/** The people of an account who may have keys. */
export function foundHolders(account: string): FoundBy {
  return {
    useNameOf: (id) => useActors([id])(id),
    useFound(search) {
      const { data, isPlaceholderData } = useGet('/people', { query: { limit: SHOWN_MAX, account, search } });
      const enabled = data?.data.filter(({ status, account: of }) => status !== 'disabled' && of !== null);
      return foundIn({ data: enabled && { data: enabled }, isPlaceholderData }, optionOfPerson);
    },
  };
}

export const foundDestinations: FoundBy = {
  useNameOf(id) {
    const { data } = useGet('/destinations/{id}', { id: id ?? undefined, isEnabled: id !== null });
    return id !== null && data?.id === id ? data.name || data.address : null;
  },
  useFound: (search) =>
    foundIn(useGet('/destinations', { query: { limit: SHOWN_MAX, search } }), ({ id, name, address }) => ({
      value: id,
      label: name || address,
      note: address,
    })),
};

/** Of objects that a name identifies. */
function foundByName(path: '/groups' | '/providers'): FoundBy {
  return {
    useNameOf: (name) => name,
    useFound: (search) => foundIn(useGet(path, { query: { limit: SHOWN_MAX, search } }), optionOfName),
  };
}

function optionOfName({ name }: { name: string }): FoundOption {
  return { value: name, label: name };
}

export const foundGroups = foundByName('/groups');
export const foundProviders = foundByName('/providers');

/** The models that one of the groups offers, null: all that the user sees; and that one of the patterns matches, null: any. */
export function foundModels(groups: readonly string[] | null, patterns: readonly string[] | null = null): FoundBy {
  return {
    useNameOf: (name) => name,
    useFound(search) {
      const query = { limit: SHOWN_MAX, search, groups: groups?.join(), patterns: patterns?.join() };
      return foundIn(useGet('/models', { query }), optionOfName);
    },
  };
}

/** Among names that are all known. */
export function foundAmong(names: readonly string[]): FoundBy {
  return {
    useNameOf: (name) => name,
    useFound(text) {
      const matching = names.filter((name) => name.toLowerCase().includes(text.toLowerCase()));
      return { options: matching.map((name) => ({ value: name, label: name })), isCurrent: true };
    },
  };
}

export const foundPlans: FoundBy = {
  useNameOf(name) {
    const { options } = foundPlans.useFound(name ?? '');
    return options.find(({ value }) => value === name)?.label ?? name;
  },
  useFound: (search) =>
    foundIn(useGet('/plans', { query: { limit: SHOWN_MAX, search } }), ({ name, title }) => ({
      value: name,
      label: title,
      ...(title !== name && { note: name }),
    })),
};

/** The providers that a source of bills is set up for. */
export const foundBillSources: FoundBy = {
  useNameOf: (name) => name,
  useFound: (search) =>
    foundIn(useGet('/provider-bill-sources', { query: { limit: SHOWN_MAX, search } }), ({ provider }) => ({
      value: provider,
      label: provider,
    })),
};
