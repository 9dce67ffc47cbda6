import { texts } from '../app/language.ts';
import { useFieldTexts } from './field-texts.ts';

const useTitles = texts(
  {
    failure: 'Failure',
    reply: 'Replies',
    group: 'Groups',
    session: 'Sessions',
    pace: 'Pace',
    commands: 'Commands',
    notices: 'Notices',
    quota: 'Quota',
    presence: 'Presence',
    access: 'Access',
    takeover: 'Takeover',
    when: 'Conditions',
    media: 'Media',
  },
  {
    failure: 'Fallos',
    reply: 'Respuestas',
    group: 'Grupos',
    session: 'Sesiones',
    pace: 'Ritmo',
    commands: 'Comandos',
    notices: 'Avisos',
    quota: 'Cuota',
    presence: 'Presencia',
    access: 'Acceso',
    takeover: 'Intervención',
    when: 'Condiciones',
    media: 'Archivos',
  },
);

/** A hook that returns the title of a group of settings by its field, such as `reply`. */
export function useSectionTitle(): (name: string) => string {
  const titles: Record<string, string> = useTitles();
  const { label } = useFieldTexts();
  return (name) => titles[name] ?? label(name);
}
