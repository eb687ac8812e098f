// JSON schemas for kubeconform, of the API of Kubernetes and of custom resources: unknown fields are faults.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Schema = { [name: string]: Json };

export interface Kind {
  apiVersion: string;
  kind: string;
}

/** Files with the custom resources that the chart uses, by kind. */
const customFiles: Readonly<Record<string, string>> = {
  HTTPRoute: 'gateway.networking.k8s.io_httproutes.yaml',
  PrometheusRule: 'monitoring.coreos.com_prometheusrules.yaml',
  ServiceMonitor: 'monitoring.coreos.com_servicemonitors.yaml',
};

/** Where `writeSchemas` puts the schema of a kind, in the words of kubeconform. */
export const schemaLocation = '{{ .ResourceKind }}{{ .KindSuffix }}.json';

/** Writes a schema for each kind into `directory`, from the files in `sources`. Throws for a kind that does not exist. */
export function writeSchemas(kinds: readonly Kind[], sources: string, version: string, directory: string): void {
  const { definitions } = JSON.parse(readFileSync(join(sources, `${version}.json`), 'utf8')) as {
    definitions: Record<string, Schema>;
  };
  for (const kind of kinds) {
    const file = customFiles[kind.kind];
    const schema = file === undefined ? ofKubernetes(kind, definitions) : ofCustomResource(kind, join(sources, file));
    const [group = '', number] = kind.apiVersion.includes('/') ? kind.apiVersion.split('/') : ['', kind.apiVersion];
    const suffix = [group.split('.')[0], number].filter((part) => part !== '').join('-');
    writeFileSync(join(directory, `${kind.kind.toLowerCase()}-${suffix}.json`), JSON.stringify(schema));
  }
}

function ofKubernetes({ apiVersion, kind }: Kind, definitions: Record<string, Schema>): Schema {
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const isWanted = (schema: Schema) => {
    const [first, ...others] = (schema['x-kubernetes-group-version-kind'] ?? []) as Schema[];
    const isOne = others.length === 0 && first?.['kind'] === kind;
    return isOne && first['group'] === group && first['version'] === version;
  };
  const [name] = Object.entries(definitions).find(([, schema]) => isWanted(schema)) ?? [];
  if (name === undefined) throw new Error(`Kubernetes has no ${kind} of ${apiVersion}`);
  const used: Record<string, Json> = {};
  const wanted = [name];
  for (const one of wanted) {
    if (one in used) continue;
    const schema = strict(definitions[one] as Schema);
    used[one] = schema;
    for (const [, next = ''] of JSON.stringify(schema).matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g))
      wanted.push(next);
  }
  return { $ref: `#/definitions/${name}`, definitions: used };
}

function ofCustomResource({ apiVersion }: Kind, file: string): Schema {
  const { spec } = parse(readFileSync(file, 'utf8')) as {
    spec: { group: string; versions: { name: string; schema: { openAPIV3Schema: Schema } }[] };
  };
  const found = spec.versions.find(({ name }) => `${spec.group}/${name}` === apiVersion);
  if (found === undefined) throw new Error(`${file} has no version ${apiVersion}`);
  const schema = strict(found.schema.openAPIV3Schema) as { properties: Schema };
  return { ...schema, properties: { ...schema.properties, metadata: { type: 'object' } } };
}

/** The schema without unknown fields. Kubernetes accepts numbers for two types that its schemas call strings. */
function strict(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(strict);
  if (schema === null || typeof schema !== 'object') return schema;
  const isNumberToo = schema['format'] === 'int-or-string' || schema['x-kubernetes-int-or-string'] === true;
  if (isNumberToo || isQuantity(schema['description'])) return { type: ['string', 'number'] };
  const isOpen = 'additionalProperties' in schema || schema['x-kubernetes-preserve-unknown-fields'] === true;
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, strict(part)]));
  return 'properties' in schema && !isOpen ? { ...parts, additionalProperties: false } : parts;
}

function isQuantity(description: Json | undefined): boolean {
  return typeof description === 'string' && description.startsWith('Quantity is a fixed-point representation');
}
