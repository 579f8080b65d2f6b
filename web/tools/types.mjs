// TypeScript of the API's documents: node tools/types.mjs < openapi.json > src/lib/api.ts
// The OpenAPI document comes from a controller: curl http://127.0.0.1:5000/api/v1/openapi.json
//
// What occurs more than once is written once: an object that several documents contain has a name of its own, and a
// document that has all keys of another one extends it.
import { readFileSync } from 'node:fs';

const { components } = JSON.parse(readFileSync(0, 'utf8'));
const documents = Object.entries(components.schemas).sort(([a], [b]) => (a < b ? -1 : 1));

const indent = (text) => text.replace(/\n/g, '\n  ');
const keyOf = (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : `'${name}'`);
const isObject = ({ properties }) => properties && Object.keys(properties).length > 1;
// The same for objects that are alike, whether or not they may be null.
const markOf = ({ properties, required = [] }) => JSON.stringify([properties, [...required].sort()]);

// ---- names ----

// Calls use(schema, key, document) for every object inside a schema, the innermost first.
function eachObject(schema, key, document, use) {
  for (const [name, inner] of Object.entries(schema.properties ?? {})) eachObject(inner, name, document, use);
  for (const inner of [schema.items, schema.additionalProperties, ...(schema.anyOf ?? schema.oneOf ?? [])])
    if (typeof inner === 'object') eachObject(inner, key, document, use);
  if (isObject(schema) && key !== null) use(schema, key, document);
}

const pascal = (key) => key.replace(/(?:^|_)([a-z])/g, (_, letter) => letter.toUpperCase());
const singular = (name) => name.replace(/ies$/, 'y').replace(/sses$/, 'ss').replace(/([^s])s$/, '$1');
const names = new Map();
for (const [name, schema] of documents)
  if (isObject(schema) && schema.type === 'object' && !names.has(markOf(schema))) names.set(markOf(schema), name);
const uses = new Map();
for (const [name, schema] of documents)
  eachObject(schema, null, name, (object, key) => {
    const known = uses.get(markOf(object)) ?? { key, document: name, object, count: 0 };
    uses.set(markOf(object), { ...known, count: known.count + 1 });
  });
const parts = [];
for (const [mark, { key, document, object, count }] of uses) {
  if (count < 2 || names.has(mark)) continue;
  const taken = new Set([...names.values(), ...documents.map(([name]) => name)]);
  const short = singular(pascal(key));
  names.set(mark, taken.has(short) ? `${document}${short}` : short);
  parts.push([names.get(mark), { ...object, type: 'object' }]);
}

// ---- types ----

function propertiesOf({ properties, required = [] }) {
  return Object.entries(properties).map(
    ([name, schema]) => `${keyOf(name)}${required.includes(name) ? '' : '?'}: ${indent(typeOf(schema))};`
  );
}

const blockOf = (lines) => (lines.length === 0 ? '{ [key: string]: never }' : `{\n  ${lines.join('\n  ')}\n}`);

function objectOf(schema) {
  const { properties, additionalProperties } = schema;
  if (properties) return names.get(markOf(schema)) ?? blockOf(propertiesOf(schema));
  return `{ [key: string]: ${typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown'} }`;
}

const simple = { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' };

function oneOf(type, schema) {
  if (type === 'object') return objectOf(schema);
  if (type === 'array') {
    const items = schema.items ?? {};
    const isUnion = items.anyOf || items.oneOf || items.enum || [items.type].flat().length > 1;
    return isUnion ? `(${typeOf(items)})[]` : `${typeOf(items)}[]`;
  }
  return simple[type] ?? 'unknown';
}

function typeOf(schema) {
  if (schema.$ref) return schema.$ref.split('/').at(-1);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value).replace(/"/g, "'")).join(' | ');
  const several = schema.anyOf ?? schema.oneOf;
  if (several) return [...new Set(several.map(typeOf))].join(' | ');
  if (!schema.type) return schema.properties ? objectOf(schema) : 'unknown';
  return [schema.type]
    .flat()
    .map((type) => oneOf(type, schema))
    .join(' | ');
}

// The largest document of which this one has all keys, with the same types.
function baseOf(name, lines) {
  const own = new Set(lines);
  const bases = documents
    .filter(([other, schema]) => other !== name && isObject(schema) && schema.type === 'object')
    .map(([other, schema]) => [other, propertiesOf(schema)])
    .filter(([, keys]) => keys.length > 4 && keys.length < lines.length && keys.every((key) => own.has(key)));
  return bases.sort(([, a], [, b]) => b.length - a.length)[0];
}

function declarationOf(name, schema) {
  if (!schema.properties || schema.type !== 'object') {
    const type = typeOf(schema);
    return type.startsWith('{') && type.endsWith('}') ? `export interface ${name} ${type}` : `export type ${name} = ${type};`;
  }
  const alike = names.get(markOf(schema));
  if (alike && alike !== name) return `export type ${name} = ${alike};`;
  const lines = propertiesOf(schema);
  const base = baseOf(name, lines);
  if (!base) return `export interface ${name} ${blockOf(lines)}`;
  return `export interface ${name} extends ${base[0]} ${blockOf(lines.filter((line) => !base[1].includes(line)))}`;
}

// ---- what the document says of keys, by their path ----

function* descriptionsOf(schema, path) {
  if (schema.description) yield [path.join('.'), schema.description];
  for (const [name, inner] of Object.entries(schema.properties ?? {})) yield* descriptionsOf(inner, [...path, name]);
}
const described = [...descriptionsOf(components.schemas.JobFile, [])].map(
  ([path, text]) => `  ${JSON.stringify(path)}: ${JSON.stringify(text)}`
);

const types = [...parts, ...documents].map(([name, schema]) => declarationOf(name, schema));
process.stdout.write(`// Made by tools/types.mjs from the OpenAPI document of the controller. Not to be edited.

${types.join('\n\n')}

// What the document says of keys of a job file.
export const jobFileKeys: { [path: string]: string } = {
${described.join(',\n')}
};
`);
