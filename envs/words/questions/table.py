"""Things and their properties, written down for this project: who answers twenty questions looks here.

Answers are meant as most people would give them; what matters to the game is that they are fixed, and that every two
things differ in some property.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["PROPERTIES", "THINGS"]

_PROPERTIES = """
alive: Is it alive?
animal: Is it an animal?
mammal: Is it a mammal?
bird: Is it a bird?
water: Does it live in water or belong on it?
flies: Can it fly?
legs: Does it have legs?
four: Does it have exactly four legs?
tail: Does it have a tail?
fur: Does it have fur or hair?
wings: Does it have wings?
hunts: Does it eat other animals?
farm: Is it often found on a farm?
pet: Do people keep it as a pet?
danger: Can it be dangerous?
eggs: Does it lay eggs?
plant: Is it a plant or part of one?
tree: Is it a tree, or does it grow on one?
food: Do people eat or drink it?
sweet: Does it taste sweet?
liquid: Is it liquid?
made: Is it made by people?
tool: Is it a tool?
electric: Does it need electricity?
wheels: Does it have wheels?
ride: Do people travel in it or on it?
metal: Is it mostly made of metal?
wood: Is it mostly made of wood?
cloth: Is it made of cloth or wool?
soft: Is it soft?
heavy: Is it heavier than a person?
hand: Does it fit into a hand?
round: Is it round?
long: Is it much longer than it is wide?
red: Is it usually red?
green: Is it usually green?
white: Is it usually white?
yellow: Is it usually yellow?
indoors: Is it usually indoors?
kitchen: Is it often found in a kitchen?
worn: Do people wear it?
music: Do people make music with it?
sound: Does it make sounds?
sky: Is it seen in the sky?
heat: Is it hot, or does it give heat?
cold: Is it cold?
play: Is it used in games or sport?
opens: Can it be opened and closed?
holds: Can things be put into it?
sharp: Is it sharp, or has it something sharp?
reading: Is it for reading or writing?
"""

_KINDS = """
beast: alive animal mammal legs four tail fur sound
fowl: alive animal bird legs wings flies tail eggs sound
swimmer: alive animal water tail eggs
crawler: alive animal legs eggs hand
reptile: alive animal legs four tail eggs
fruit: plant tree food sweet hand
vegetable: plant food kitchen
growth: alive plant
dish: made food kitchen
device: made electric indoors
handy: made tool hand
vehicle: made ride wheels heavy metal
home: made indoors
clothes: made worn cloth soft
instrument: made music sound indoors
toy: made play
"""

_THINGS = """
cat: beast pet indoors hunts sharp soft
dog: beast pet hunts farm
horse: beast farm ride heavy
cow: beast farm heavy food
pig: beast farm heavy food -fur
sheep: beast farm food soft white
goat: beast farm
rabbit: beast pet soft food
mouse: beast hand indoors
hamster: beast hand pet indoors soft
lion: beast hunts danger sharp heavy yellow
tiger: beast hunts danger sharp heavy
bear: beast hunts danger sharp heavy -tail
wolf: beast hunts danger sharp
fox: beast hunts sharp red
elephant: beast heavy danger -fur
giraffe: beast heavy long yellow
monkey: beast -four
kangaroo: beast -four heavy
camel: beast ride heavy
squirrel: beast tree hand red
hedgehog: beast hand sharp -tail
bat: beast flies wings sky -four -tail hand
whale: beast water heavy -legs -four -fur
dolphin: beast water heavy hunts -legs -four -fur
seal: beast water heavy hunts -legs -four
chicken: fowl farm food -flies
duck: fowl farm food water
goose: fowl farm food water white danger
owl: fowl hunts sharp sky
eagle: fowl hunts sharp sky danger
parrot: fowl pet green indoors
penguin: fowl water hunts cold -flies
ostrich: fowl heavy farm -flies
swan: fowl water white
crow: fowl sky
shark: swimmer hunts danger sharp heavy
goldfish: swimmer pet indoors hand red
salmon: swimmer food hunts
octopus: alive animal water eggs hunts soft legs
crab: crawler water hunts food sharp red
jellyfish: alive animal water soft danger
frog: crawler water hunts green four sound
snake: reptile hunts danger long pet -legs -four
turtle: reptile water pet
crocodile: reptile water hunts danger sharp heavy long green
lizard: reptile hunts green hand
bee: crawler wings flies sound farm sharp sky
butterfly: crawler wings flies sky
mosquito: crawler wings flies sound sharp danger
ant: crawler
spider: crawler hunts indoors
snail: alive animal eggs hand soft round
worm: alive animal eggs hand soft long
apple: fruit round red
banana: fruit long yellow soft
orange: fruit round
lemon: fruit yellow kitchen -sweet
cherry: fruit round red soft
pear: fruit green
grape: fruit round green soft -tree
strawberry: fruit red soft -tree
melon: fruit round green heavy -tree -hand -heavy
coconut: fruit round white
carrot: vegetable long sweet hand
potato: vegetable round hand
tomato: vegetable round red soft hand
onion: vegetable round hand sharp
cucumber: vegetable long green
pea: vegetable round green hand sweet
corn: vegetable yellow sweet farm long
pumpkin: vegetable round farm
mushroom: food alive kitchen soft hand white
rose: growth red sharp
sunflower: growth yellow long farm
grass: growth green long farm
cactus: growth green sharp indoors
oak: growth tree heavy wood green
palm: growth tree heavy long green
bread: dish soft
cheese: dish yellow
egg: food kitchen round hand white
butter: dish yellow soft
cake: dish sweet soft round
chocolate: dish sweet hand
honey: food kitchen sweet liquid yellow
rice: food plant kitchen white
soup: dish liquid heat
milk: food liquid kitchen white
coffee: dish liquid heat plant
juice: dish liquid sweet plant
ice: cold water
snow: cold white soft sky
rain: liquid water sky sound
cloud: sky white soft
sun: sky heat round yellow danger
moon: sky round white
star: sky heat
fire: heat danger red sound
river: liquid water long danger
mountain: heavy danger
stone: heavy -heavy hand round
hammer: handy metal sound
saw: handy metal sharp danger long
scissors: handy metal sharp opens indoors
knife: handy metal sharp danger long kitchen
fork: handy metal sharp kitchen
spoon: handy metal kitchen holds
needle: handy metal sharp long indoors
key: handy metal
ladder: made tool wood long
broom: made tool wood long indoors
rope: made tool long cloth
candle: home heat danger long hand white
pencil: handy wood long reading indoors
book: home reading opens
newspaper: made reading opens white
letter: home reading opens hand white
car: vehicle opens danger holds sound
bus: vehicle opens sound holds red long
bicycle: vehicle -heavy
train: vehicle long sound opens
tractor: vehicle farm sound danger
plane: vehicle flies wings sky long opens sound white
helicopter: vehicle flies sky sound -wheels
rocket: vehicle flies sky heat long danger -wheels
boat: made ride water wood
ship: made ride water heavy metal holds
chair: home legs four wood
table: home legs four wood kitchen heavy -heavy
bed: home legs four soft cloth wood
sofa: home legs four soft cloth heavy
lamp: device heat
clock: device round sound
telephone: device sound hand
television: device sound
computer: device reading
camera: device hand -electric opens
radio: device sound hand music
fridge: device kitchen cold opens holds heavy white
oven: device kitchen heat opens holds metal
kettle: device kitchen heat holds metal sound opens
cup: home kitchen holds hand round
plate: home kitchen round white
bottle: home kitchen holds opens long
pot: home kitchen holds metal opens heat round
box: home holds opens
bag: made holds opens cloth soft
basket: made holds wood
door: home opens wood
window: home opens
mirror: home
bell: made metal sound hand music
shirt: clothes white
trousers: clothes long
sock: clothes hand long
shoe: made worn
hat: clothes round
glove: clothes hand
scarf: clothes long red
ring: made worn metal round hand
glasses: made worn reading hand opens
umbrella: made opens cloth
piano: instrument wood heavy legs opens
guitar: instrument wood
violin: instrument wood long
drum: instrument round
flute: instrument long metal hand
trumpet: instrument metal yellow
ball: toy round
kite: toy flies sky cloth tail
doll: toy soft indoors cloth
dice: toy hand white indoors
sledge: toy wood ride cold
balloon: toy round flies sky red soft
robot: device legs metal sound play
"""


def _read(text: str) -> list[tuple[str, str]]:
    """(name, rest) of each line ``name: rest``."""
    return [(name, rest.strip()) for name, _, rest in (line.partition(":") for line in text.split("\n") if line)]


def _traits(words: str, kinds: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Properties from a line: those of its kinds, those it names, without those behind a minus."""
    found: set[str] = set()
    for word in words.split():
        found |= kinds.get(word, {word})
    return frozenset(
        found - {word[1:] for word in found if word[0] == "-"} - {word for word in found if word[0] == "-"}
    )


PROPERTIES: dict[str, str] = dict(_read(_PROPERTIES))
"""Yes-or-no properties: name -> the question."""

_KIND = {name: frozenset(rest.split()) for name, rest in _read(_KINDS)}

THINGS: dict[str, frozenset[str]] = {name: _traits(rest, _KIND) for name, rest in _read(_THINGS)}
"""Things: name -> the properties that it has."""
