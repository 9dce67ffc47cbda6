import { useTexts } from '../app/language.ts';
import { useFieldTexts } from './field-texts.ts';

/** A hook that returns the title of a group of settings by its field, such as `reply`. */
export function useSectionTitle(): (name: string) => string {
  const titles: Record<string, string> = useTexts('sections');
  const { label } = useFieldTexts();
  return (name) => titles[name] ?? label(name);
}
