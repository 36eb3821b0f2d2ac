"""Common English words, written down for this project, and small lists for word chains that can be solved exactly."""

from __future__ import annotations

__all__ = ["LISTS"]

_TINY = "ape eel elk lake kite era ant tea owl leak lute toe ark kale oak tail"

_ANIMALS = """
ant ape asp badger bat bear beetle buck crab crow deer dingo dog dove duck eagle eel elk emu ferret frog goat goose
gorilla hare hawk hen heron horse ibis jackal jay kite koala lamb lark lemur lion lizard llama mole monkey moth mouse
mule newt ocelot otter owl ox panda parrot pig quail rabbit rat raven robin salmon seal sheep shrew snail spider stoat
swan tapir tiger toad trout turkey turtle vole walrus wasp whale wolf worm yak zebra
"""

_COMMON = """
able about above accept account acid acorn across act action actor add adult advice after again age agree ahead air
alarm album alert alive all almost alone along alphabet always amount anchor angle animal ankle answer ant any apart
apple april apron arch area arm army around arrow art artist ask asleep atlas attic august aunt author autumn awake
away
baby back bacon bad badge bag bake balance ball balloon banana band bank barn basket bat bath beach beak bean bear
beard beat beauty bed bee beef before begin behind bell belong below belt bench berry best big bike bird birth bit
bite black blanket blind block blood blue board boat body bone book boot border born both bottle bottom bowl box boy
brain branch brave bread break breath brick bridge bright bring broad broken broom brother brown brush bucket build
bus bush business busy butter button buy
cabin cake call calm camel camera camp candle candy cap captain car card care carpet carrot carry castle cat catch
cave ceiling cellar center chain chair chalk chance change cheap check cheek cheese cherry chess chest chicken chief
child chimney chin church circle city class clay clean clear clever climb clock close cloth cloud clown club coal
coast coat coffee coin cold color come comfort cook cool copper copy corn corner cost cotton cough count country
cousin cover cow crane cream crow crowd crown cry cup curtain cut
daily damp dance danger dark date daughter day dead dear debt decide deep deer desert desk dew diamond dice dinner
dirty dish dive doctor dog doll dolphin donkey door double down dragon draw drawer dream dress drink drive drop drum
dry duck dull dust duty
each eager eagle ear early earn earth east easy eat echo edge effort egg eight either elbow elder eleven else empty
end enemy engine enjoy enough enter entry envelope envy equal error escape evening event every exact exam example
except exit expert extra eye eyebrow
face fact factory fair fall false family famous fan far farm fast father fault feast feather feel fellow fence fern
few field fig fight fill film final finger finish fire first fish fist five flag flame flat flight floor flour flower
flute fly fog fold follow food foot forest forget fork form forty forward four fox frame free fresh friend frog front
frost fruit full fun funny fur
gain game garage garden garlic gate gather gentle ghost giant gift ginger giraffe girl give glad glass glove glue goal
goat gold good goose grain grand grape grass gravy gray great green greet grey ground group grow guard guess guest
guide guitar gum
habit hair half hall hammer hand handle hang happy harbor hard harp hat hawk hay head heal hear heart heat heavy hedge
heel height help hen herb hero hidden high hill hobby hold hole holiday hollow home honest honey hook hope horn horse
hospital hot hotel hour house how human humor hundred hungry hunt hurry hurt
ice icicle icon idea idle igloo ill image inch indeed index ink inn insect inside instead invite iron island issue
item itself ivory ivy
jacket jam january jar jaw jazz jeans jelly jewel job join joke journey joy judge juice july jump june jungle jury
just
kayak keen keep kettle key kick kid kidney kind king kiss kitchen kite kitten knee knife knight knock knot know koala
label ladder lady lake lamb lamp land language large last late laugh laundry law lazy leader leaf learn least leather
leave left leg lemon lend lesson letter level library lid lift light like lily line lion lip list listen little live
lizard load lobster local lock lonely long look loose lord lose lost loud love low loyal lucky lunch lung
machine magic magnet mail main make male man many map maple marble march market mask match matter meadow meal mean
meat medal meet melon melt member memory menu metal middle might mild mile milk mill mind mine minute mirror miss mist
mix model modern money monkey month moon more morning mother motor mountain mouse mouth move much mud mule muscle
museum music mystery
nail name napkin narrow nation nature navy near neat neck need needle neighbor nephew nerve nest net never new news
next nice night nine noble nobody noise noon north nose note nothing notice novel now number nurse nut
oak oasis oat obey object ocean october odd off offer office often oil old olive onion only open opera orange orbit
orchard order organ other otter out oven over owl own owner ox oxygen oyster
pack paddle page pain paint pair palace palm pan paper parade parent park parrot part party pass past path pay pea
peace peach peak pear pearl pen pencil people pepper person phone photo piano pick picnic picture pie piece pig pigeon
pillow pilot pin pine pink pipe place plain plan plane planet plant plate play plenty plum pocket poem poet point
police pond pony pool poor potato pot power praise present pretty price prince print prize proof proud public pull
pump pupil puppy pure purple push puzzle
quail quality quarrel quarter queen quest question quick quiet quilt quit quite quiz
rabbit race radio radish rail rain rainbow raisin ranch rapid rare rat rather raven raw reach read ready real reason
recipe red reply rescue rest return ribbon rice rich ride right ring ripe rise river road roast robin robot rock roll
roof room root rope rose rough round row royal rub ruby rule run rush
sad saddle safe sail salad salt same sand sauce save scale school science sea search season seat second secret see
seed self sell send seven shadow shake shape share sharp sheep shell shield shine ship shirt shoe shop short shoulder
shout show shower sick side silent silk silver simple sing sister six size skill skin skirt sky sleep slice slow small
smell smile smoke smooth snail snake snow soap soft soil soldier some song soon sorry soup south space spade spark
speak spell spider spoon spring square stable star start station stay steam steel stem step stick still stone stop
storm story stove straw street string strong study sugar summer sun supper sure swan sweet swim
table tail tailor take tale talk tall taste taxi tea teach team tear teeth tell temple ten tent test thank thick thief
thin thing think third thirsty thorn thousand thread throat throw thumb thunder ticket tide tie tiger time tiny tired
title toast today toe together tomato tongue tool tooth top torch total touch towel tower town toy track trade train
travel tray treasure tree trial tribe trick trip trouble trousers truck true trumpet trust truth try tulip tunnel
turkey turn turtle twelve twenty twin twist two
ugly umbrella uncle under unicorn uniform union unit until upper upset urban urge use useful usual
valley value van vase velvet verb very vest victory view village vine violet violin visit voice volcano vote vowel
voyage
wagon waist wait wake walk wall walnut war warm wash wasp waste watch water wave wax way weak wealth wear weather week
weight well west wet whale wheat wheel where whisper whistle white whole wide wife wild willow win wind window wine
wing winter wire wise wish wolf woman wonder wood wool word work world worm worry worth wrap wrist write wrong
yacht yard yarn year yeast yellow yes yesterday yet yoga yogurt yolk young youth
zebra zero zigzag zinc zipper zone zoo
"""

LISTS: dict[str, tuple[str, ...]] = {
    "tiny": tuple(_TINY.split()),
    "animals": tuple(_ANIMALS.split()),
    "common": tuple(_COMMON.split()),
}
"""Lists of words by name, no word twice: 16 words over six letters, 80 animals, 1233 common words."""
