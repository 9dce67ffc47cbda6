import type { Route } from '../../core/models.ts';
import { isShared } from './talk-to-route.ts';

/** A route that programs may talk to, with the name of its skill. */
export interface SharedRoute {
  /** `talk-to-<name>` */
  skill: string;
  route: Route;
}

/** The shared routes with unique names, the oldest first; two of the same name have a part of their id in it. */
export function sharedRoutes(routes: readonly Route[]): SharedRoute[] {
  const taken = new Set<string>();
  return routes
    .filter(isShared)
    .sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1))
    .map((route) => {
      const plain = `talk-to-${slug(route.name ?? '') || route.id}`;
      const skill = taken.has(plain) ? `${plain}-${route.id.slice(-12)}` : plain;
      taken.add(skill);
      return { skill, route };
    });
}

function slug(name: string): string {
  return (
    name
      .normalize('NFKD')
      .toLowerCase()
      .replace(/\p{M}/gu, '')
      .replace(/[^\p{L}\p{N}]+/gu, '-')
      // Each run of other characters became one hyphen.
      .replace(/^-|-$/g, '')
      .slice(0, 60)
  );
}

/** What a program asks for: a skill by its name, or only a text. */
export interface Wish {
  skill?: string;
  text: string;
}

/** The skill of a wish. `unclear`: the program must name one. */
export type SkillChoice =
  | { kind: 'person'; skill: 'message-person' | 'ask-person' }
  | { kind: 'route'; route: Route }
  | { kind: 'unknown' }
  | { kind: 'unclear' };

/** A text without a skill goes to the only shared route. */
export function chooseSkill({ skill }: Pick<Wish, 'skill'>, shared: readonly SharedRoute[]): SkillChoice {
  if (skill === 'message-person' || skill === 'ask-person') return { kind: 'person', skill };
  const [first] = shared;
  if (skill === undefined) {
    return first && shared.length === 1 ? { kind: 'route', route: first.route } : { kind: 'unclear' };
  }
  const named = shared.find((candidate) => candidate.skill === skill);
  return named ? { kind: 'route', route: named.route } : { kind: 'unknown' };
}
