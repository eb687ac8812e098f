// The choice of a model, with sandbox models last.

import { FoundSelect } from '../../parts/fields.tsx';
import type { FoundBy, FoundOption } from '../../parts/found.ts';
import { isSandbox, isSandboxError } from '../keys/values.ts';

interface ModelSelectProps {
  label: string;
  found: FoundBy;
  /** Empty: none. */
  value: string;
  onChange: (name: string) => void;
}

export function ModelSelect({ label, found, value, onChange }: ModelSelectProps) {
  return (
    <FoundSelect
      aria-label={label}
      placeholder="Choose a model"
      flex={1}
      miw={0}
      allowDeselect={false}
      found={found}
      arrange={inGroups}
      value={value || null}
      onChange={(name) => onChange(name ?? '')}
    />
  );
}

function inGroups(options: FoundOption[]) {
  const isModel = ({ value }: FoundOption) => !isSandbox(value);
  const isPlain = ({ value }: FoundOption) => isSandbox(value) && !isSandboxError(value);
  return [
    { group: 'Models', items: options.filter(isModel) },
    { group: 'Sandbox models', items: options.filter(isPlain) },
    { group: 'Sandbox models that simulate errors', items: options.filter(({ value }) => isSandboxError(value)) },
  ].filter(({ items }) => items.length > 0);
}
