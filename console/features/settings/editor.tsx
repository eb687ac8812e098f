// Edits one setting or resets it to its default.

import { FileInput, Group, Image, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import type { SettingShape } from '../../../src/admin-api/shapes.ts';
import { ApiFailure } from '../../api.ts';
import { faultSentence } from '../../form-faults.ts';
import { FormActions } from '../../parts/dialog-button.tsx';
import { Modal, MultiSelect } from '../../parts/later.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { FailureNotice, Hint } from '../../parts/page.tsx';
import { leave, useUnsavedEdits } from '../../unsaved.ts';
import type { CatalogDocument, CatalogEdit } from '../catalog/changes.ts';
import { type Review, ReviewDialog, useReview } from '../catalog/review-dialog.tsx';
import {
  isLongText,
  readSetting,
  settingName,
  settingText,
  shownSetting,
  textOfSetting,
  unitNames,
  unitOf,
} from './values.ts';

export function SettingEditor({ setting }: { setting: SettingShape }) {
  const [isOpen, dialog] = useDisclosure(false);
  const apply = useReview({ done: 'Setting saved.', onDone: dialog.close });
  return (
    <>
      <Group gap={4} className="no-print">
        {setting.origin !== null && (
          <ActionButton
            label="Reset to default"
            size="compact-xs"
            variant="subtle"
            loading={apply.isAsking && !isOpen}
            onClick={() => apply.preview((current) => withSetting(current, setting.name, undefined))}
          />
        )}
        <ActionButton
          label="Edit"
          size="compact-xs"
          onClick={dialog.open}
          aria-label={`Edit ${settingName(setting)}`}
        />
      </Group>
      {!isOpen && apply.failure !== null && <FailureNotice failure={apply.failure} />}
      <Modal opened={isOpen} onClose={() => leave(dialog.close)} title={`Edit ${settingName(setting)}`}>
        <SettingForm setting={setting} apply={apply} onCancel={dialog.close} />
      </Modal>
      <ReviewDialog apply={apply} />
    </>
  );
}

interface SettingFormProps {
  setting: SettingShape;
  apply: Review;
  onCancel: () => void;
}

function SettingForm({ setting, apply, onCancel }: SettingFormProps) {
  const [text, setText] = useState(textOfSetting(setting.value));
  useUnsavedEdits(text !== textOfSetting(setting.value), text);
  const fault = faultOf(apply.failure, setting.name);
  const field = {
    label: 'New value',
    error: fault,
    value: text,
    'data-autofocus': true,
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => setText(currentTarget.value),
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        event.stopPropagation();
        apply.preview((current) => withSetting(current, setting.name, readSetting(setting, text)));
      }}
      noValidate
    >
      <Stack>
        <Hint>{settingText(setting)}</Hint>
        {setting.kind === 'boolean' ? (
          <NativeSelect
            {...field}
            data={[
              { value: 'true', label: 'On' },
              { value: 'false', label: 'Off' },
            ]}
          />
        ) : setting.options !== null && setting.kind === 'texts' ? (
          <MultiSelect
            label="New value"
            error={fault}
            data={setting.options}
            value={text.split(', ').filter((word) => word !== '')}
            onChange={(words) => setText(words.join(', '))}
          />
        ) : setting.options !== null ? (
          <NativeSelect {...field} data={setting.options} />
        ) : setting.name === 'installation_logo' ? (
          <LogoField value={text} error={fault} onChange={setText} />
        ) : isLongText(setting) || setting.name.startsWith('email_domains') ? (
          <Textarea {...field} autosize minRows={3} maxRows={20} placeholder="None" />
        ) : (
          <TextInput
            {...field}
            {...(hintOf(setting) !== '' && { description: hintOf(setting) })}
            {...(setting.kind === 'integer' && { inputMode: 'numeric' as const })}
            {...(setting.nullable && { placeholder: 'None' })}
          />
        )}
        <Hint size="xs">{`Default: ${shownSetting(setting, setting.default)}`}</Hint>
        {fault === null && <FailureNotice failure={apply.failure} />}
        <FormActions onCancel={onCancel} label="Review changes" isPending={apply.isAsking} />
      </Stack>
    </form>
  );
}

interface LogoFieldProps {
  /** A data URL; empty: none. */
  value: string;
  error: string | null;
  onChange: (url: string) => void;
}

/** The service checks type and size; it never gets a larger file. */
function LogoField({ value, error, onChange }: LogoFieldProps) {
  const [fault, setFault] = useState<string | null>(null);
  const read = (file: File | null) => {
    setFault(null);
    if (file === null) return onChange('');
    if (file.size > LOGO_BYTES_MAX) return setFault('The file is larger than 32 KiB.');
    const reader = new FileReader();
    reader.onload = () => onChange(String(reader.result));
    reader.readAsDataURL(file);
  };
  return (
    <Stack gap="xs">
      <FileInput
        label="Image file"
        description="PNG or SVG, at most 32 KiB. It is shown 28 pixels high."
        accept="image/png,image/svg+xml"
        placeholder="Choose a file"
        clearable
        error={fault ?? error}
        onChange={read}
      />
      {value !== '' && <Image src={value} alt="Preview of the logo" h={28} w="auto" maw={120} fit="contain" />}
    </Stack>
  );
}

const LOGO_BYTES_MAX = 32 * 1024;

function hintOf({ name, kind, least, most }: SettingShape): string {
  if (kind === 'texts') return 'Separate values with commas.';
  if (kind !== 'integer' || least === null || most === null) return '';
  const unit = unitOf(name);
  const range = `${least.toLocaleString('en-US')} to ${most.toLocaleString('en-US')}`;
  return unit === undefined ? range : `${range} ${unitNames[unit]}`;
}

/** The current settings with one changed; undefined resets it. The vendor prefixes are a separate member of the document. */
export function withSetting({ settings }: CatalogDocument, name: string, value: unknown): CatalogEdit {
  if (name === 'vendor_prefixes') return { document: { vendor_prefixes: value ?? null } };
  const { [name]: _, ...others } = settings;
  return { document: { settings: value === undefined ? others : { ...others, [name]: value } } };
}

function faultOf(failure: unknown, name: string): string | null {
  if (!(failure instanceof ApiFailure)) return null;
  const own = failure.faults.filter(({ path }) => path.includes(name));
  const [first] = own;
  return first !== undefined && own.length === failure.faults.length ? faultSentence(first.path, first.message) : null;
}
