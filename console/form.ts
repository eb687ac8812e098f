// Forms that warn before unsaved edits are lost.

import { type FormValidateInput, type UseFormReturnType, useForm as useMantineForm } from '@mantine/form';
import { useUnsavedEdits } from './unsaved.ts';

interface FormInput<Values> {
  initialValues: Values;
  validate?: FormValidateInput<Values>;
}

export function useForm<Values extends object>(input: FormInput<Values>): UseFormReturnType<Values> {
  const form = useMantineForm<Values>(input);
  useUnsavedEdits(form.isDirty(), form.values);
  return form;
}
