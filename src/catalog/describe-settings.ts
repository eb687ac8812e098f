// All settings with their values in force, as the admin API lists them.

import { z } from 'zod';
import { assert } from '../base/assert.ts';
import { camelCase } from '../base/member-names.ts';
import type { JsonValue } from '../wire/wire.ts';
import { SETTINGS, type SettingName, type Settings, settingsFrom, settingsInput, storedSettings } from './settings.ts';
import type { CatalogDocument } from './store.ts';

export interface SettingDescription {
  name: SettingName;
  /** The value in force, in the form of a file. */
  value: JsonValue;
  default: JsonValue;
  /** The origin of the value; null for the default. */
  origin: CatalogDocument['origin'] | null;
  description: string;
  kind: 'integer' | 'boolean' | 'text' | 'texts';
  least: number | null;
  most: number | null;
  /** The words that it, or each of its values, can be; null: any that its schema accepts. */
  options: readonly string[] | null;
  /** Whether it may be null; the description says what null means. */
  nullable: boolean;
}

/** All settings, with the values of these documents. */
export function describeSettings(documents: readonly CatalogDocument[]): SettingDescription[] {
  const entry = documents.find(({ kind }) => kind === 'settings');
  const stored = storedSettings.parse(entry?.document ?? {});
  const inForce = settingsFrom(stored);
  return (Object.keys(SETTINGS) as SettingName[]).map((name) => {
    const { [name]: given, ...others } = stored;
    return {
      name,
      value: valueIn(inForce, name),
      default: valueIn(settingsFrom(others), name),
      origin: given === undefined ? null : (entry?.origin ?? null),
      description: SETTINGS[name].description ?? '',
      ...kindOf(name),
    };
  });
}

function valueIn(settings: Settings, name: SettingName): JsonValue {
  const value = settings[camelCase(name)];
  return typeof value === 'object' && value !== null ? [...value] : value;
}

interface SettingSchema {
  type?: string | string[];
  minimum?: number;
  maximum?: number;
  anyOf?: SettingSchema[];
  enum?: string[];
  items?: SettingSchema;
}

const kinds: Readonly<Record<string, SettingDescription['kind']>> = {
  integer: 'integer',
  boolean: 'boolean',
  string: 'text',
  array: 'texts',
};
const schemas = z.toJSONSchema(settingsInput, { io: 'input' }).properties as Record<string, SettingSchema>;

function kindOf(name: SettingName): Pick<SettingDescription, 'kind' | 'least' | 'most' | 'options' | 'nullable'> {
  const schema = schemas[name] ?? { type: 'array' }; // vendor_prefixes are beside the settings
  const types = (schema.anyOf ?? [schema]).flatMap(({ type }) => type ?? []);
  const given = schema.anyOf?.find((one) => one.type !== 'null') ?? schema;
  const { minimum = null, maximum = null } = given;
  const options = given.enum ?? given.items?.enum ?? null;
  const kind = kinds[types.find((type) => type !== 'null') ?? ''];
  assert(kind !== undefined, `the setting ${name} has an unknown kind`);
  return { kind, least: minimum, most: maximum, options, nullable: types.includes('null') };
}
